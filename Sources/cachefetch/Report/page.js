"use strict";
// Draws the report from the JSON beside it. Foreign text becomes text nodes only: nothing is parsed as HTML.
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("rows").textContent);
  const [list, heads, windowed, entry, search] = ["list", "heads", "window", "entry", "search"].map(byId);
  const number = new Intl.NumberFormat("en");

  // Elements and words.

  function filled(element, attributes, content) {
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") element.addEventListener(name, value);
      else if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value);
    }
    element.append(...content);
    return element;
  }
  const make = (name, attributes = {}, ...content) => filled(document.createElement(name), attributes, content);
  const draw = (name, attributes = {}, ...content) =>
    filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, content);

  // Characters that move, hide or reorder what stands beside them are named.
  const unsafe = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
  const named = (mark) => `<U+${mark.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}>`;
  const shown = (text) => text.replace(unsafe, named);
  const shownBody = (text) => text.replace(/\r\n/g, "\n").replace(unsafe, named);

  function span(milliseconds) {
    const seconds = Math.floor(Math.abs(milliseconds) / 1000);
    const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
    const [length, unit] = units.find(([length]) => seconds >= length) ?? units[3];
    return `${number.format(Math.floor(seconds / length))} ${unit}`;
  }
  function size(bytes) {
    const units = ["B", "kB", "MB", "GB", "TB"];
    let unit = 0;
    for (; bytes >= (unit ? 999.95 : 1000) && unit < 4; unit++) bytes /= 1000;
    return `${unit ? bytes.toFixed(1) : bytes} ${units[unit]}`;
  }
  const elapsed = (milliseconds) =>
    milliseconds < 1000 ? `${milliseconds} ms` : milliseconds < 60000 ? `${(milliseconds / 1000).toFixed(1)} s` : span(milliseconds);
  const plural = (count, noun, many) => `${number.format(count)} ${count === 1 ? noun : many}`;
  function instant(milliseconds) {
    const date = new Date(milliseconds);
    return Number.isNaN(date.getTime()) ? "an instant that no clock shows" : date.toISOString().replace("T", " ").replace("Z", " UTC");
  }
  const time = (milliseconds, text = span(data.made - milliseconds)) => make("time", { title: instant(milliseconds) }, text);

  // The rows. The store's order is that of the details.

  const usual = { method: "GET", account: "", detail: "", used: null, tags: [], type: "" };
  const rows = data.rows.map((given, index) => {
    const row = { ...usual, ...given, index };
    const start = row.target.startsWith("key:") ? -1 : row.target.indexOf("://");
    const slash = start < 0 ? -1 : row.target.indexOf("/", start + 3);
    row.host = start < 0 ? "" : row.target.slice(start + 3, slash < 0 ? undefined : slash);
    row.path = (row.method === "GET" ? "" : row.method + " ") + (slash < 0 ? row.target : row.target.slice(slash));
    row.text = [row.target, row.method, row.account, row.detail, row.status, row.type, ...row.words, ...row.tags.map((tag) => "#" + tag)].join(" ").toLowerCase();
    return row;
  });
  const accountName = (name) => shown(name.startsWith("auto:") ? name.slice(0, 13) + "…" : name);

  function state(row) {
    return row.words.map((word) => {
      const isTimed = word === "fresh" || word === "stale";
      const text = isTimed ? `${word} ${span(row.staleness)}` : word;
      const title = isTimed && instant(data.made - row.staleness);
      return make("span", { class: "word " + word, title: isTimed && `${word === "fresh" ? "until" : "since"} ${title}` }, text);
    });
  }
  const columns = [
    { name: "Path", key: (row) => row.path.toLowerCase(), cell: (row) => [shown(row.path), ...(row.detail ? [make("small", {}, " " + shown(row.detail))] : [])] },
    { name: "Host", key: (row) => row.host, cell: (row) => [shown(row.host)] },
    { name: "Age", key: (row) => -row.received, cell: (row) => [time(row.received)] },
    { name: "State", key: (row) => (row.words.includes("damaged") ? -Infinity : row.staleness), cell: state },
    { name: "Size", key: (row) => row.bytes, cell: (row) => [size(row.bytes)] },
    { name: "Last use", key: (row) => -(row.used ?? -Infinity), cell: (row) => (row.used === null ? ["never"] : [time(row.used)]) },
    { name: "Account", key: (row) => row.account, cell: (row) => [accountName(row.account)] },
    { name: "Tags", key: (row) => row.tags.join(" "), cell: (row) => [row.tags.map((tag) => "#" + shown(tag)).join(" ")] },
  ];

  // Search, sort and filter.

  let visible = rows.slice();
  let active = -1;
  let opened = null;
  let sorted = { column: columns[0], isDown: false };
  const filters = [
    { name: "Host", values: (row) => (row.host ? [row.host] : []) },
    { name: "State", values: (row) => row.words },
    { name: "Type", values: (row) => (row.type ? [row.type] : []) },
    { name: "Account", values: (row) => [row.account], label: (name) => (name === "" ? "no account" : accountName(name)) },
    { name: "Tag", values: (row) => row.tags, label: (tag) => "#" + shown(tag) },
  ];
  // More choices than anybody reads through; what is rarer is found by searching.
  const mostChoices = 100;

  for (const filter of filters) {
    const counts = new Map();
    for (const row of rows) for (const value of filter.values(row)) counts.set(value, (counts.get(value) ?? 0) + 1);
    if (counts.size < 2 && !["Tag", "State"].includes(filter.name) || counts.size === 0) continue;
    filter.choices = [...counts].sort((a, b) => b[1] - a[1]).slice(0, mostChoices).map(([value]) => value);
    filter.select = make("select", { "aria-label": filter.name, change: choose }, make("option", { value: "" }, `${filter.name}: all`),
      ...filter.choices.map((value, index) => make("option", { value: index + 1 }, `${(filter.label ?? shown)(value)} (${number.format(counts.get(value))})`)));
    byId("count").before(filter.select);
  }

  function choose() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = filters.filter((filter) => filter.select?.value).map((filter) => [filter, filter.choices[filter.select.value - 1]]);
    visible = rows.filter((row) => words.every((word) => row.text.includes(word)) && wanted.every(([filter, value]) => filter.values(row).includes(value)));
    arrange();
  }
  function arrange() {
    const { column, isDown } = sorted;
    const keys = new Map(visible.map((row) => [row, column.key(row)]));
    visible.sort((a, b) => {
      const [left, right] = [keys.get(a), keys.get(b)];
      return (left < right ? -1 : left > right ? 1 : a.index - b.index) * (isDown ? -1 : 1);
    });
    for (const head of heads.children) {
      const isSorted = head.textContent === column.name;
      filled(head, { "aria-sort": isSorted ? (isDown ? "descending" : "ascending") : "none" }, []);
    }
    byId("count").textContent = visible.length === rows.length ? plural(rows.length, "entry", "entries") : `${number.format(visible.length)} of ${plural(rows.length, "entry", "entries")}`;
    list.setAttribute("aria-rowcount", visible.length + 1);
    list.scrollTop = 0;
    activate(Math.max(0, visible.findIndex((row) => row.index === opened)));
  }
  heads.append(...columns.map((column) =>
    make("div", { role: "columnheader" }, make("button", { click() {
      sorted = { column, isDown: sorted.column === column && !sorted.isDown };
      arrange();
    } }, column.name))));

  // The window: only rows in sight, and some above and below, are in the document.

  const rowHeight = () => parseInt(getComputedStyle(list).getPropertyValue("--row"), 10);
  function drawWindow() {
    const height = rowHeight();
    const first = Math.max(0, Math.floor(list.scrollTop / height) - 5);
    const end = Math.min(visible.length, first + Math.ceil(list.clientHeight / height) + 10);
    windowed.style.height = `${visible.length * height}px`;
    windowed.replaceChildren(...visible.slice(first, end).map((row, place) => {
      const index = first + place;
      const line = make("div", { role: "row", id: `row-${index}`, "aria-rowindex": index + 2, "aria-selected": String(index === active), class: row.index === opened && "opened",
        click() { activate(index); open(row, false); } },
      ...columns.map((column) => make("div", { role: "gridcell", class: column.name.toLowerCase().replace(" ", "-") }, ...column.cell(row))));
      line.style.top = `${index * height}px`;
      return line;
    }));
    if (byId(`row-${active}`)) list.setAttribute("aria-activedescendant", `row-${active}`);
    else list.removeAttribute("aria-activedescendant");
  }
  function activate(index) {
    active = Math.max(0, Math.min(visible.length - 1, index));
    const [height, room] = [rowHeight(), list.clientHeight - heads.offsetHeight];
    if (active * height < list.scrollTop) list.scrollTop = active * height;
    else if ((active + 1) * height > list.scrollTop + room) list.scrollTop = (active + 1) * height - room;
    drawWindow();
  }
  let isDue = false;
  function drawSoon() {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      list.classList.toggle("narrow", list.clientWidth < 560);
      list.classList.toggle("middle", list.clientWidth < 900);
      drawWindow();
    });
  }
  list.addEventListener("scroll", drawSoon);
  new ResizeObserver(drawSoon).observe(list);

  // One entry. Its line of the details is parsed when it is opened; their last line is the table of texts.

  let lines, texts, picture;
  function details(index) {
    lines ??= byId("details").textContent.trim().split("\n");
    texts ??= JSON.parse(lines[lines.length - 1]).texts;
    const found = JSON.parse(lines[index]);
    for (const name of ["fields", "policies", "terms", "sends", "changes"]) found[name] = found[name].map((place) => texts[place]);
    return found;
  }
  function groups(items, length) {
    return Array.from({ length: items.length / length }, (_, index) => items.slice(index * length, (index + 1) * length));
  }
  const table = (title, pairs) => make("table", { "aria-label": title }, make("tbody", {}, ...pairs.map(([name, value, note]) =>
    make("tr", {}, make("th", { scope: "row" }, typeof name === "string" ? shown(name) : name),
      make("td", {}, typeof value === "string" ? shown(value) : value, ...(note ? [" ", make("small", {}, note)] : []))))));
  const part = (title, isOpen, ...content) => make("details", { open: isOpen ? "" : false }, make("summary", {}, make("h3", {}, title)), ...content);

  function open(row, movesFocus) {
    const found = details(row.index);
    if (picture) URL.revokeObjectURL(picture);
    picture = undefined;
    opened = row.index;
    const policies = groups(found.policies, 2), terms = groups(found.terms, 3), fields = groups(found.fields, 2);
    const facts = [
      ["Status", `${row.status}${row.type ? ", " + row.type : ""}`],
      ["State", make("span", {}, ...(row.words.length ? state(row) : ["without a lifetime"]))],
      ["Age", time(row.received)],
      ["Changed", time(found.changed)],
      ["Last use", row.used === null ? "never" : time(row.used)],
      ["Size", make("span", { title: plural(row.bytes, "byte", "bytes") }, size(row.bytes))],
      row.account && ["Account", accountName(row.account)],
      row.detail && ["Key", row.detail],
      row.tags.length && ["Tags", row.tags.map((tag) => "#" + tag).join(" ")],
      found.url && found.url !== row.target && ["Answered by", found.url],
    ].filter(Boolean);
    entry.replaceChildren(
      make("div", { class: "bar" }, make("h2", {}, (row.method === "GET" ? "" : row.method + " ") + shown(row.target)),
        make("button", { "aria-label": "Close the entry", title: "Esc", click: close }, "✕")),
      table("Facts", facts),
      part("Under each policy", true, table("Under each policy", policies)),
      part("Body", true, ...body(row, found.body, fields.find(([name]) => name.toLowerCase() === "content-type")?.[1])),
      part("Head", true, fields.length ? table("Head", fields) : "No fields."),
      part("Why", false, terms.length ? table("Terms", terms) : "Nothing decides.",
        make("p", {}, found.sends.length ? "A refresh sends:" : "A refresh sends no condition."), table("A refresh sends", found.sends.map((line) => {
          const colon = line.indexOf(": ");
          return [line.slice(0, colon), line.slice(colon + 2)];
        })),
        ...found.changes.map((change) => make("p", {}, shown(change) + "."))));
    entry.hidden = false;
    entry.scrollTop = 0;
    byId("entries").classList.add("split");
    activate(visible.indexOf(row));
    if (movesFocus || getComputedStyle(entry).position === "fixed") entry.focus();
  }
  function close() {
    if (entry.hidden) return;
    entry.hidden = true;
    opened = null;
    byId("entries").classList.remove("split");
    list.focus();
    activate(active);
  }

  // Bodies: a tree, an image made from a blob, or text. Nothing of them runs.

  function decoded(content, type) {
    const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
    const charset = /charset="?([\w-]+)/i.exec(type)?.[1] ?? "utf-8";
    try { return [bytes, new TextDecoder(charset).decode(bytes)]; } catch { return [bytes, new TextDecoder().decode(bytes)]; }
  }
  const source = (text) => make("pre", { tabindex: 0, role: "region", "aria-label": "Source" }, shownBody(text));
  function body(row, content, type) {
    if (content.left_out !== undefined) return [make("p", { class: "none" }, content.left_out)];
    const [bytes, text] = content.text === undefined ? decoded(content.base64, type) : [null, content.text];
    if (/^image\//.test(row.type)) {
      const image = make("img", { alt: "The body as an image", error() { image.replaceWith(make("p", { class: "none" }, "No image that this browser shows.")); } });
      picture = URL.createObjectURL(new Blob([bytes ?? text], { type: row.type }));
      image.src = picture;
      return row.type === "image/svg+xml" ? [image, source(text)] : [image];
    }
    if (row.bytes === 0) return [make("p", { class: "none" }, "Empty.")];
    if (!/[/+]json$/.test(row.type)) return [source(text)];
    try {
      // Numbers stay as they are written.
      const value = JSON.parse(text, (_, value, context) => (typeof value === "number" ? new Written(context?.source ?? String(value)) : value));
      const tree = make("div", { class: "tree" }, branch(undefined, value, 2));
      const whole = source(text);
      whole.hidden = true;
      const turn = make("button", { "aria-pressed": "false", click() {
        whole.hidden = !whole.hidden;
        tree.hidden = !whole.hidden;
        turn.setAttribute("aria-pressed", String(tree.hidden));
      } }, "Source");
      return [turn, tree, whole];
    } catch {
      return [make("p", { class: "none" }, "It is not JSON, or nested too deep."), source(text)];
    }
  }
  class Written { constructor(text) { this.text = text; } }
  const mostChildren = 500;
  function branch(name, value, depth) {
    const label = name === undefined ? [] : [make("span", { class: "name" }, shown(name)), ": "];
    if (value instanceof Written) return make("div", {}, ...label, make("span", { class: "number" }, value.text));
    if (typeof value === "string") return make("div", {}, ...label, make("span", { class: "string" }, shown(JSON.stringify(value))));
    if (value === null || typeof value !== "object") return make("div", {}, ...label, make("span", { class: "number" }, String(value)));
    const isList = Array.isArray(value), items = Object.entries(value);
    const kind = isList ? `[ ${plural(items.length, "item", "items")} ]` : `{ ${plural(items.length, "member", "members")} }`;
    if (items.length === 0) return make("div", {}, ...label, isList ? "[ ]" : "{ }");
    const node = make("details", { toggle: fill }, make("summary", {}, ...label, make("small", {}, kind)));
    let begun = 0;
    // Children are made when they are asked for: a small body may have many, or be deep.
    function fill() { if (begun === 0 && node.open) more(); }
    function more() {
      const next = items.slice(begun, begun + mostChildren);
      begun += next.length;
      node.append(...next.map(([key, child]) => branch(key, child, depth - 1)));
      if (begun < items.length) node.append(make("button", { click() { this.remove(); more(); } }, `${number.format(items.length - begun)} more`));
    }
    if (depth > 0) { node.open = true; fill(); }
    return node;
  }

  // Figures.

  function plot(title, bars) {
    const most = Math.max(...bars.map((bar) => bar.value), 0);
    const [width, line, left, right] = [460, 24, 150, 80];
    const cut = (text) => (text.length > 19 ? text.slice(0, 18) + "…" : text);
    const picture = draw("svg", { viewBox: `0 0 ${width} ${bars.length * line}`, role: "img", "aria-label": `${title}: ${bars.map((bar) => `${bar.name} ${bar.text}`).join(", ")}` },
      ...bars.map((bar, index) => draw("g", { transform: `translate(0 ${index * line})` }, draw("title", {}, `${bar.name}: ${bar.text}`),
        draw("text", { x: left - 8, y: 16, "text-anchor": "end" }, cut(bar.name)),
        draw("rect", { class: bar.kind ?? "bar", x: left, y: 4, height: 16, rx: 2, width: most ? Math.max(bar.value ? 1.5 : 0, (bar.value / most) * (width - left - right)) : 0 }),
        draw("text", { x: left + 6 + (most ? (bar.value / most) * (width - left - right) : 0), y: 16 }, bar.text))));
    return make("figure", {}, make("figcaption", {}, title), most ? picture : make("p", { class: "none" }, "Nothing yet."));
  }
  function byHost(title, value, text) {
    const sums = new Map();
    for (const part of data.parts) sums.set(part.host, (sums.get(part.host) ?? 0) + value(part));
    const most = [...sums].filter(([, sum]) => sum > 0).sort((a, b) => b[1] - a[1]).slice(0, 10);
    return plot(title, most.map(([host, sum]) => ({ name: shown(host), value: sum, text: text(sum) })));
  }
  function histogram(title, value, limits) {
    const counts = limits.map(() => 0);
    for (const row of rows) counts[limits.findIndex(([limit]) => value(row) < limit)] += 1;
    return plot(title, limits.map(([, name], index) => ({ name, value: counts[index], text: number.format(counts[index]) })));
  }
  const total = (name) => data.parts.reduce((sum, part) => sum + part[name], 0);
  byId("figures").append(
    plot("Deliveries by kind", [["stored", "stored"], ["fresh", "fresh, with a body"], ["unchanged", "confirmed by 304"], ["failed", "failures"]].map(
      ([kind, name]) => ({ name, kind, value: total(kind), text: number.format(total(kind)) }))),
    byHost("Hits by host: stored responses delivered", (part) => part.stored, number.format),
    byHost("Transfer saved by host", (part) => part.saved_bytes, size),
    byHost("Waiting saved by host", (part) => part.saved_ms, elapsed),
    histogram("Entries by size", (row) => row.bytes, [[1e3, "below 1 kB"], [1e4, "to 10 kB"], [1e5, "to 100 kB"], [1e6, "to 1 MB"], [1e7, "to 10 MB"], [Infinity, "more"]]),
    histogram("Entries by age", (row) => data.made - row.received, [[6e4, "below 1 min"], [36e5, "to 1 h"], [864e5, "to 1 d"], [6048e5, "to 7 d"], [2592e6, "to 30 d"], [Infinity, "more"]]));

  // Views and keys.

  function view(name) {
    for (const each of ["entries", "figures"]) {
      byId(each).hidden = each !== name;
      byId("to-" + each).setAttribute("aria-current", String(each === name));
    }
  }
  byId("to-entries").addEventListener("click", () => view("entries"));
  byId("to-figures").addEventListener("click", () => view("figures"));
  search.addEventListener("input", choose);
  byId("filters").addEventListener("submit", (event) => { event.preventDefault(); list.focus(); });
  list.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(list.clientHeight / rowHeight()) - 2);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -visible.length, End: visible.length };
    if (event.target !== list || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in moves) activate(active + moves[event.key]);
    else if ((event.key === "Enter" || event.key === " ") && visible[active]) open(visible[active], event.key === "Enter");
    else return;
    event.preventDefault();
    if (event.key in moves && opened !== null && visible[active]) open(visible[active], false);
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      if (!entry.hidden) close();
      else if (event.target === search) { search.value = ""; choose(); list.focus(); }
    } else if (event.key === "/" && event.target !== search) {
      event.preventDefault();
      view("entries");
      search.focus();
    }
  });

  const summary = [plural(rows.length, "entry", "entries") + (data.left_out ? ` (${number.format(data.left_out)} used longer ago are left out)` : ""),
    size(rows.reduce((sum, row) => sum + row.bytes, 0)) + " of bodies", `${size(total("saved_bytes"))} of transfer and ${elapsed(total("saved_ms"))} of waiting saved`];
  byId("summary").append(...[data.chosen && `Only ${shown(data.chosen)}. `, "As of ", time(data.made, instant(data.made).slice(0, 16) + " UTC"), ": " + summary.join(", ") + "."].filter(Boolean));
  view("entries");
  choose();
})();
