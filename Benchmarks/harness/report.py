"""Markdown tables of medians, spread and ratios, and the verdict on each budget."""

import datetime
import os
import platform
import re
import statistics

budget_head = ["what", "measured", "range", "runs", "budget", "", "on"]


def duration(nanoseconds):
    for limit, divisor, unit in ((1e4, 1e3, "µs"), (1e6, 1e3, "µs"), (1e9, 1e6, "ms")):
        if nanoseconds < limit:
            value = nanoseconds / divisor
            return f"{value:.1f} {unit}" if value < 100 else f"{value:.0f} {unit}"
    return f"{nanoseconds / 1e9:.2f} s"


class Report:
    def __init__(self, budgets=None):
        self.notes = []
        # The Markdown and the samples of each scene, by its title.
        self.sections, self.scenes = {}, {}
        # What is promised, with the measurement of each run.
        self.budgets = {} if budgets is None else budgets

    def note(self, text):
        self.notes += [text, ""]

    def text(self, title, text):
        self.sections[title] = [f"### {title}", "", measured_on(), "", text, ""]

    def scene(self, title, samples, reference=None, note="", processes=False):
        """A table; ratios are to the named contender's median, else to the first one's."""
        self.scenes[title] = samples
        by_name = {sample.name: sample for sample in samples}
        base = by_name.get(reference, samples[0])
        head = ["", "durable", "p50", "p5 to p95", "p99", f"× {base.name}"]
        if processes:
            head += ["to the end", "CPU", "peak"]
        rows = []
        for sample in samples:
            row = [
                sample.name, sample.durable, duration(sample.p50),
                f"{duration(sample.quantile(0.05))} to {duration(sample.quantile(0.95))}", duration(sample.quantile(0.99)),
                f"{sample.p50 / base.p50:.2f}"]
            if processes:
                extra = sample.extra
                row += [duration(extra["end"]), duration(extra["cpu"] * 1e3), f"{extra['peak'] / 1024:.1f} MB"]
            rows.append(row)
        self.sections[title] = [f"### {title}", "", f"{measured_on()} {note}".strip(), "", *table(head, rows), ""]
        return by_name

    def budget(self, what, measured, limit, unit="×"):
        """A figure of this run, and what it may be at most; without a limit it is shown and not judged."""
        self.budgets.setdefault(what, (limit, unit, []))[2].append(measured)

    def verdicts(self):
        """Each budget judged by the median of the runs."""
        today = datetime.date.today().isoformat()
        rows = []
        for what, (limit, unit, measured) in self.budgets.items():
            median = statistics.median(measured)
            rows.append([
                what, f"{median:.2f} {unit}".strip(), f"{min(measured):.2f} to {max(measured):.2f}", str(len(measured)),
                "" if limit is None else f"≤ {limit} {unit}".strip(),
                "" if limit is None else "met" if median <= limit else "**missed**", today])
        return rows

    def markdown(self, command):
        lines = [f"Measured with `{command}` on {machine()}.", "", *self.notes]
        if self.budgets:
            lines += ["### Budgets", "", *table(budget_head, self.verdicts()), ""]
        return "\n".join(lines + [line for section in self.sections.values() for line in section])

    def record(self, folder):
        """Writes what was measured into the file of the day, in place of what that says of the same."""
        day = datetime.date.today().isoformat()
        page = folder / f"{day}.md"
        kept = sections(page.read_text()) if page.exists() else {}
        if self.budgets:
            kept["Budgets"] = "Budgets\n\n" + "\n".join(table(budget_head, merged(rows(kept.get("Budgets", "")), self.verdicts())))
        for title, lines in self.sections.items():
            kept[title] = "\n".join(lines).removeprefix("### ")
        text = "\n".join(f"### {part.strip()}\n" for part in kept.values())
        page.write_text(f"# Measured {day}\n\nThe latest run of these scenes on one machine, by `scripts/bench`.\n\n{text}")


def rows(markdown):
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in lines[2:]]


def merged(old, new):
    fresh = {row[0]: row for row in new}
    return [fresh.pop(row[0], row) for row in old] + list(fresh.values())


def sections(markdown):
    return {part.split("\n", 1)[0]: part for part in re.split(r"^### ", markdown, flags=re.M)[1:]}


def measured_on():
    return f"Measured {datetime.date.today().isoformat()}, {os.cpu_count()} × {processor()}, Linux {platform.release().split('-')[0]}, load {os.getloadavg()[0]:.1f}."


def table(head, rows):
    columns = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    line = lambda row: "| " + " | ".join(str(cell).ljust(columns[i]) for i, cell in enumerate(row)) + " |"
    return [line(head), "|" + "|".join("-" * (width + 2) for width in columns) + "|"] + [line(row) for row in rows]


def machine():
    try:
        system = dict(line.strip().split("=", 1) for line in open("/etc/os-release") if "=" in line)["PRETTY_NAME"].strip('"')
    except (OSError, KeyError):
        system = platform.platform()
    return f"{os.cpu_count()} × {processor()}, {system}, Linux {platform.release().split('-')[0]}, load {os.getloadavg()[0]:.1f}"


def processor():
    try:
        found = re.search(r"model name\s*: (.*)", open("/proc/cpuinfo").read())
    except OSError:
        found = None
    return found.group(1) if found else "unknown processor"
