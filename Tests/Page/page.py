"""Drives the page of `cachefetch report` in headless Chromium; run by scripts/check page.

usage: page.py CACHEFETCH FOLDER [PICTURES]      FOLDER holds stores and reports; PICTURES gets a screenshot of each state
"""
import base64
import hashlib
import json
import os
import pathlib
import re
import shutil
import stat
import statistics
import subprocess
import sys
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

import origin as origins

ROWS = 20_000
# Milliseconds that each may take with so many rows, on a machine that does other things as well.
LIMITS = {"open": 4000, "search": 200, "sort": 400, "scroll": 50}
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)
        print("FAILED:", what[:500], file=sys.stderr, flush=True)


class Page:
    """A browser window on one report."""
    watching = """
      window.seen = [];
      addEventListener("securitypolicyviolation", (event) => seen.push("policy: " + event.violatedDirective + " " + event.blockedURI));
      addEventListener("error", (event) => seen.push("error: " + event.message));
      addEventListener("unhandledrejection", (event) => seen.push("rejection: " + event.reason));
      for (const name of ["alert", "confirm", "prompt", "open", "fetch"]) window[name] = () => seen.push("called: " + name);
    """

    def __init__(self, file, width=1280, height=800, dark=False, pictures=None):
        options = webdriver.ChromeOptions()
        for word in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--window-size={width},{height}"]:
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.name, self.pictures = file.stem, pictures
        tell = self.driver.execute_cdp_cmd
        tell("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        tell("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        tell("Page.addScriptToEvaluateOnNewDocument", {"source": self.watching})
        self.driver.get(file.as_uri())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Nothing was said on the console, blocked by the policy, asked for, or run."""
        try:
            said = [line["message"] for line in self.driver.get_log("browser")]
            check(not said, f"{self.name}: the console says {said}")
            seen = self.run("return [...seen, ...(window.harmed || document.title !== 'cachefetch report' ? ['harmed'] : [])]")
            check(not seen, f"{self.name}: {seen}")
            asked = [json.loads(line["message"])["message"] for line in self.driver.get_log("performance")]
            urls = {event["params"]["request"]["url"] for event in asked if event["method"] == "Network.requestWillBeSent"}
            others = [url for url in urls if not re.match("(file|data|blob):", url)]
            check(not others, f"{self.name}: asked for {others}")
        finally:
            self.driver.quit()

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def id(self, name):
        return self.driver.find_element(By.ID, name)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector)

    def keys(self, *keys):
        webdriver.ActionChains(self.driver).send_keys(*keys).perform()

    def focused(self):
        return self.run("const e = document.activeElement; return e.id || e.getAttribute('aria-label') || e.textContent.slice(0, 40) || e.tagName")

    def picture(self, name):
        if self.pictures:
            self.driver.save_screenshot(str(self.pictures / f"{name}.png"))

    def search(self, text):
        self.id("search").clear()
        self.id("search").send_keys(text)
        return self.texts("#window .path")

    def show(self, path):
        """Opens the entry whose path begins so, and returns its part for the body."""
        self.search(path)
        self.all("#window .path")[0].click()
        return self.run("return [...document.querySelectorAll('#entry > details')].find((e) => e.querySelector('h3').textContent === 'Body')")

    def shown_text(self, path):
        return self.run("return arguments[0].textContent", self.show(path))

    # Text is read where it stands on a ground of another colour. Ratio as WCAG 2 has it.
    contrasts = """
      const channel = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
      const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
      const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
      const ground = (e) => { for (; e; e = e.parentElement) { const c = parts(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
      const low = [];
      for (const e of document.querySelectorAll("body *")) {
        const ownText = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
        if (!(ownText || e.matches("input")) || !e.getClientRects().length || e.matches("script, option")) continue;
        const style = e.matches("input") ? getComputedStyle(e, "::placeholder") : getComputedStyle(e);
        const [a, b] = [light(parts(e.namespaceURI.endsWith("svg") ? style.fill : style.color)), light(ground(e))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) low.push(`${e.tagName}.${e.getAttribute("class") ?? ""} ${e.textContent.slice(0, 20)}: ${ratio.toFixed(2)}`);
      }
      return low;
    """

    def check_contrast(self, state):
        low = self.run(self.contrasts)
        check(not low, f"{self.name}, {state}: contrast too low: {low[:5]}")

    def check_names(self, state):
        """Every control and every landmark has a name for a screen reader."""
        self.driver.execute_cdp_cmd("Accessibility.enable", {})
        nodes = self.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        for node in nodes:
            role = node.get("role", {}).get("value")
            if not node.get("ignored") and role in {"button", "searchbox", "textbox", "combobox", "grid", "image", "img", "article",
                                                   "navigation", "search", "region", "columnheader", "graphics-document"}:
                check(node.get("name", {}).get("value"), f"{self.name}, {state}: a {role} has no name")

    def fits(self, state):
        wide = self.run("return [...document.querySelectorAll('html, body, header, main, #list, #entry, #figures')].filter((e) => "
                        "e.getClientRects().length && e.scrollWidth > e.clientWidth + 1).map((e) => e.id || e.tagName)")
        check(not wide, f"{self.name}, {state}: too wide: {wide}")


class Command:
    def __init__(self, program, folder, store, proxy):
        self.program, self.folder = program, folder
        self.environment = dict(os.environ, CACHEFETCH_STORE=str(folder / store), http_proxy=proxy)
        for name in ("no_proxy", "NO_PROXY", "CACHEFETCH_TIER"):
            self.environment.pop(name, None)

    def run(self, *words, text=None, status=0):
        done = subprocess.run([self.program, *map(str, words)], env=self.environment, input=text, capture_output=True, text=True,
                              encoding="utf-8", errors="replace")
        check(done.returncode == status, f"{words}: {done.returncode}, {done.stderr.strip()}")
        return done.stdout

    def report(self, name, *words):
        file = self.folder / f"{name}.html"
        begun = time.monotonic()
        self.run("report", "-o", file, *words)
        self.made = time.monotonic() - begun
        check(stat.S_IMODE(file.stat().st_mode) == 0o600, f"{name}: mode {oct(file.stat().st_mode)}")
        return file


def fill(command):
    for path in origins.BODIES:
        url = "http://api.example.com" if "json" in path else "http://pages.example.org"
        if path != "/mine.json":
            command.run("-q", "--print", "none", "--tag", "news" if "news" in path else "kinds", url + path)
    command.run("-q", "--print", "none", "--account", "alice", "http://api.example.com/mine.json")
    command.run("-q", "--print", "none", "--pin", "--key", "my own", "http://api.example.com/news.json")
    for _ in range(3):
        command.run("-q", "--print", "none", "http://api.example.com/news.json")


def check_file(file):
    """The policy's hashes are those of what stands in the page, and no script but that one can be meant."""
    page = file.read_bytes()
    policy = re.search(rb'Content-Security-Policy" content="([^"]*)"', page)[1].decode()
    for name, content in (("script-src", re.findall(rb"<script>(.*?)</script>", page, re.S)[-1]),
                          ("style-src", re.search(rb"<style>(.*?)</style>", page, re.S)[1])):
        digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
        check(f"{name} 'sha256-{digest}';" in policy, f"{file.name}: {name} is not the hash of the content")
    check(policy.startswith("default-src 'none';") and "unsafe" not in policy and "http" not in policy, f"{file.name}: {policy}")
    for part in re.findall(rb'<script type="application/json"[^>]*>(.*?)</script>', page, re.S):
        check(b"<" not in part, f"{file.name}: a < in the data")
    check(page.count(b"</script>") == 3, f"{file.name}: the data ends an element")


def check_actions(file, command, pictures):
    with Page(file, pictures=pictures) as page:
        check_file(file)
        count = len(origins.BODIES) + 1
        check(page.id("count").text == f"{count} entries", f"{page.id('count').text}")
        check(len(page.texts("#window .path")) == count, "every row of a short list is drawn")
        page.picture("light")
        page.check_contrast("list")
        page.check_names("list")
        # Search, and each filter.
        check(page.search("NEWS json") == ["/news.json"], "search by words, whatever their case")
        check(page.search("no such thing") == [] and page.id("count").text.startswith("0 of"), "nothing found")
        check("/page.html" in page.search("#kinds") and "/news.json" not in page.search("#kinds"), "search by tag")
        check(page.search("alice") == ["/mine.json"], "search by account")
        page.search("a")
        page.keys(Keys.ESCAPE)
        check(page.id("count").text == f"{count} entries" and page.focused() == "list", "Esc clears the search")
        for name, value, paths in [("Host", "api", None), ("Account", "alice", ["/mine.json"]), ("State", "pinned", ["key:my own"]), ("Tag", "#news", ["/news.json"]),
                                   ("Type", "image/svg+xml", ["/drawing.svg"])]:
            box = Select(page.driver.find_element(By.CSS_SELECTOR, f"select[aria-label={name}]"))
            box.select_by_visible_text(next(o.text for o in box.options if o.text.startswith(value)))
            check(page.texts("#window .path") == paths if paths else set(page.texts("#window .host")) == {"api.example.com"}, f"filter by {name}: {page.texts('#window .path')}")
            box.select_by_index(0)
        # Sort by each column, up and down.
        for place, name in enumerate(page.texts("#heads button")):
            button = page.all("#heads button")[place]
            orders = []
            for _ in range(3):
                button.click()
                orders.append((page.all("#heads > div")[place].get_attribute("aria-sort"), page.texts("#window .path")))
            kinds = {order for order, _ in orders}
            check(kinds == {"ascending", "descending"}, f"sort by {name}: {kinds}")
            check(orders[0][1] == orders[2][1] and sorted(orders[0][1]) == sorted(orders[1][1]), f"sort by {name} is not stable")
        page.all("#heads button")[4].click()
        sizes = page.texts("#window .size")
        check((sizes[0], sizes[-1]) == ("0 B", "70.0 kB"), f"by size: {sizes}")
        times = page.all("#window time")
        check(times and all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC", e.get_attribute("title")) for e in times), "instants are titles")
        # One entry: head, policies, body.
        tree = page.show("/news.json")
        check("Lighthouse lamp" in tree.text and "31.5" not in tree.text, "a tree, two levels of it open")
        next(branch for branch in tree.find_elements(By.CSS_SELECTOR, "summary") if branch.text.startswith("lamp")).click()
        check(WebDriverWait(page.driver, 5).until(lambda _: "31.5" in tree.text), "a branch opens")
        page.picture("entry")
        page.check_contrast("an entry")
        page.check_names("an entry")
        tree.find_element(By.CSS_SELECTOR, "button").click()
        check(tree.find_element(By.CSS_SELECTOR, "pre").is_displayed(), "the source")
        check(json.loads(tree.find_element(By.CSS_SELECTOR, "pre").text) == origins.NEWS, "the source is the body")
        policies = [row.text for row in page.all("#entry table[aria-label='Under each policy'] tr")]
        told = command.run("explain", page.all("#entry h2")[0].text)
        said = re.search(r"^policies\n((?:  .*\n)+)", told, re.M)[1].splitlines()
        strip = lambda text: re.sub(r"\d+ (ms|s|min)( \d+ s)?", "N", " ".join(text.split()))
        check([strip(p) for p in policies] == [strip(s) for s in said], f"as explain says: {policies}, {said}")
        check("ETag" in page.all("#entry table[aria-label=Head]")[0].text, "the head")
        page.all("#entry button")[0].click()
        check(not page.id("entry").is_displayed() and page.focused() == "list", "closed")
        # Figures, as stats has them.
        page.id("to-figures").click()
        check(page.id("figures").is_displayed() and not page.id("entries").is_displayed(), "the figures are another view")
        stats = [json.loads(line) for line in command.run("stats", "--json").splitlines()]
        label = page.all("#figures svg")[0].get_attribute("aria-label")
        check(f"stored {sum(part['stored'] for part in stats)}," in label, f"{label}: {stats}")
        check(len(page.all("#figures figure")) == 6 and all(e.get_attribute("aria-label") for e in page.all("#figures svg")), "six plots with names")
        page.picture("figures")
        page.check_contrast("figures")
        page.check_names("figures")
        page.id("to-entries").click()


def check_bodies(file, pictures):
    with Page(file, pictures=pictures) as page:
        check("12345678901234567890" in page.shown_text("/number.json") and "1.50" in page.shown_text("/number.json"), "numbers as written")
        long = page.show("/long.json")
        check("700 more" in page.run("return arguments[0].textContent", long), "a long list in parts")
        while more := long.find_elements(By.CSS_SELECTOR, ".tree button"):
            more[0].click()
        check("1199" in long.text, "all of a long list")
        check("[" in page.shown_text("/deep.json"), "a deep body")
        check("It is not JSON" in page.shown_text("/wrong.json"), "a body that is no JSON")
        hostile = page.show("/hostile.json")
        check("onerror" in hostile.text and "__proto__" in hostile.text and "<U+202E>reversed" in hostile.text, "hostile JSON is text")
        page.picture("hostile")
        check(page.run("return ({}).harmed === undefined && document.images.length === 0"), "no prototype is changed, no element made")
        check("<script>window.harmed" in page.shown_text("/page.html") and "café" in page.shown_text("/page.html"), "HTML is shown as its source")
        page.picture("html")
        check("<!--<script></script>{style}{details}<U+0000>-->" in page.shown_text("/comment.txt"), "marks of the page are text in a body")
        check("broken \ufffd" in page.shown_text("/broken.txt"), "broken UTF-8")
        check("café" in page.shown_text("/latin.txt"), "ISO 8859-1")
        width = "return document.querySelector('#entry img')?.naturalWidth"
        for path, wanted in [("/picture.png", 64), ("/drawing.svg", 120)]:
            page.show(path)
            check(WebDriverWait(page.driver, 5).until(lambda _: page.run(width)) == wanted, f"{path} is shown")
            page.picture(path[1:].replace(".", "-"))
        broken = page.show("/broken.png")
        WebDriverWait(page.driver, 5).until(lambda _: "No image" in broken.text)
        for path, why in [("/binary", "binary"), ("/large.txt", "longer than 64 KiB"), ("/empty", "Empty"), ("/mine.json", "belongs to an account")]:
            check(why in page.shown_text(path), f"{path}: {page.shown_text(path)}")
        check(b"only alice" not in file.read_bytes(), "an account's body without --bodies")


def check_keyboard(file):
    with Page(file) as page:
        page.keys("/")
        check(page.focused() == "search", "/ searches")
        page.keys("json", Keys.ENTER)
        check(page.focused() == "list", "Enter goes to the list")
        page.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
        current = page.id("list").get_attribute("aria-activedescendant")
        check(current == "row-2", f"arrows: {current}")
        path = page.run("return document.getElementById(arguments[0]).querySelector('.path').textContent", current)
        page.keys(Keys.ENTER)
        check(path in page.all("#entry h2")[0].text and page.focused() == "entry", "Enter opens")
        page.keys(Keys.ESCAPE)
        check(page.focused() == "list" and not page.id("entry").is_displayed(), "Esc closes")
        page.keys(Keys.END)
        last = page.id("list").get_attribute("aria-activedescendant")
        check(last == f"row-{len(page.texts('#window .path')) - 1}", "End")
        page.keys(Keys.HOME, Keys.SPACE)
        first = page.all("#entry h2")[0].text
        page.keys(Keys.ARROW_DOWN)
        check(page.all("#entry h2")[0].text != first and page.focused() == "list", "the open entry follows the arrows")
        # Every control is reached by Tab, and the column heads by it too.
        page.keys(Keys.ESCAPE)
        reached = set()
        page.run("document.activeElement.blur()")
        for _ in range(40):
            page.keys(Keys.TAB)
            reached.add(page.focused())
        for name in ["to-entries", "to-figures", "search", "Host", "State", "Type", "Account", "Tag", "Path", "Tags", "list"]:
            check(name in reached, f"Tab does not reach {name}: {reached}")
        page.id("to-figures").send_keys(Keys.ENTER)
        check(page.id("figures").is_displayed(), "a view by a key")


def check_looks(file, pictures):
    with Page(file, dark=True, pictures=pictures) as page:
        page.check_contrast("dark list")
        page.show("/news.json")
        page.check_contrast("dark entry")
        page.picture("dark")
        page.id("to-figures").click()
        page.check_contrast("dark figures")
        page.picture("dark-figures")
        ground = page.run("return getComputedStyle(document.body).backgroundColor")
        check(max(map(int, re.findall(r"\d+", ground)[:3])) < 64, f"dark: {ground}")
    with Page(file, width=390, height=844, pictures=pictures) as page:
        page.fits("list")
        page.picture("phone")
        page.check_contrast("phone list")
        before = page.texts("#window .path")
        page.all("#heads button")[4].click()
        check(page.texts("#window .path") != before, "sorted on a phone")
        page.show("/news.json")
        page.fits("entry")
        box = page.id("entry").rect
        check((box["x"], box["width"], box["height"]) == (0, 390, 844), f"an entry covers a phone: {box}")
        check(page.focused() == "entry", "focus is in what covers the list")
        page.picture("phone-entry")
        page.all("#entry button")[0].click()
        page.id("to-figures").click()
        page.fits("figures")
        page.picture("phone-figures")


def middle(times):
    """What a machine that does other things as well takes half of the time."""
    return statistics.median(times)


# From the begin of a frame to the end of what is drawn in it, at 120 places of the list.
SCROLLING = """
  const done = arguments[0], list = document.getElementById("list"), frames = [];
  const step = () => { list.scrollTop = ((frames.length + 1) * 79193) % (list.scrollHeight - list.clientHeight); };
  list.addEventListener("scroll", () => requestAnimationFrame((begun) => {
    document.body.offsetHeight;
    frames.push(performance.now() - begun);
    if (frames.length < 120) return requestAnimationFrame(step);
    const own = list.getBoundingClientRect();
    done([frames, [...document.querySelectorAll("#window > div")].filter((row) => {
      const box = row.getBoundingClientRect();
      return box.bottom > own.top && box.top < own.bottom;
    }).length]);
  }));
  step();
"""


def check_many(command, pictures):
    urls = "\n".join(f"http://{('api', 'img', 'www')[n % 7 % 3]}.example.com/n/{('items', 'users', 'stories')[n % 3]}/{n}" for n in range(ROWS))
    (command.folder / "urls.txt").write_text(urls + "\n")
    command.run("preload", "-sS", "--parallel", 32, "--tag", "many", command.folder / "urls.txt")
    file = command.report("many")
    figures = {"file": f"{file.stat().st_size / 1e6:.1f} MB", "made": f"{command.made * 1000:.0f} ms"}
    timed = "const begun = performance.now(); {} ; document.body.offsetHeight; return performance.now() - begun"
    with Page(file, pictures=pictures) as page:
        check(page.id("count").text == f"{ROWS:,} entries", page.id("count").text)
        measured = {"open": page.run("return performance.timing.domContentLoadedEventEnd - performance.timing.navigationStart")}
        page.picture("many")
        words, columns = ["1", "12", "users 19", "nothing like it", ""], range(8)
        measured["search"] = max(middle(page.run(timed.format(
            "const box = document.getElementById('search'); box.value = arguments[0]; box.dispatchEvent(new Event('input'))"), text)
            for _ in range(5)) for text in words)
        measured["sort"] = max(middle(page.run(timed.format("document.querySelectorAll('#heads button')[arguments[0]].click()"), place)
                                      for _ in range(5)) for place in columns)
        frames, in_sight = page.driver.execute_async_script(SCROLLING)
        measured["scroll"] = middle(frames)
        check(in_sight >= 20, f"rows in sight after scrolling: {in_sight}")
        nodes = page.run("return document.querySelectorAll('*').length")
        check(nodes < 1500, f"{nodes} elements in the document")
        page.keys("/")
        one = f"/n/items/{(ROWS - 1) // 3 * 3}"
        page.keys(one, Keys.ENTER, Keys.ENTER)
        check(page.all("#entry h2")[0].text.endswith(one), "one of many")
        page.picture("many-entry")
        memory = page.run("return performance.memory.usedJSHeapSize")
        for name, limit in LIMITS.items():
            check(measured[name] <= limit, f"{ROWS} rows: {name} takes {measured[name]:.0f} ms, more than {limit}")
        figures |= {name: f"{value:.0f} ms" for name, value in measured.items()} | {"elements": nodes, "heap": f"{memory / 1e6:.0f} MB"}
    print(f"{ROWS} rows:", ", ".join(f"{name} {value}" for name, value in figures.items()))


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    pictures = pathlib.Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else None
    origin = origins.Origin()
    command = Command(program, folder, "small.sqlite", origin.url)
    fill(command)
    file = command.report("small")
    asked = len(origin.asked)
    check_actions(file, command, pictures)
    check_bodies(file, pictures)
    check_keyboard(file)
    check_looks(file, pictures)
    whole = command.report("bodies", "--bodies", "--account", "alice")
    with Page(whole) as page:
        check("only alice may see this" in page.shown_text("/mine.json") and page.id("count").text == "1 entry", "--bodies, --account")
        check("--account alice" in page.id("summary").text, "what was chosen is said")
    with Page(command.report("nothing", "--host", "nobody.example")) as page:
        check(page.id("count").text == "0 entries", "a page of nothing")
        page.keys(Keys.TAB, Keys.TAB, Keys.TAB, Keys.TAB, Keys.ENTER, Keys.ARROW_DOWN)
        page.id("to-figures").click()
    check(len(origin.asked) == asked, f"the origin was asked for {origin.asked[asked:]}")
    many = Command(program, folder, "many.sqlite", origin.url)
    check_many(many, pictures)
    if failures:
        sys.exit(f"{len(failures)} of the page's checks failed")


main()
