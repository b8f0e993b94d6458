"""Markdown tables of medians, spread and ratios, and the verdict on each budget."""

import datetime
import os
import platform
import re


def duration(nanoseconds):
    for limit, divisor, unit in ((1e4, 1e3, "µs"), (1e6, 1e3, "µs"), (1e9, 1e6, "ms")):
        if nanoseconds < limit:
            value = nanoseconds / divisor
            return f"{value:.1f} {unit}" if value < 100 else f"{value:.0f} {unit}"
    return f"{nanoseconds / 1e9:.2f} s"


class Report:
    def __init__(self):
        self.lines, self.budgets = [], []

    def text(self, *lines):
        self.lines += [*lines, ""]

    def scene(self, title, samples, reference=None, note="", processes=False):
        """A table; ratios are to the named contender's median, else to the first one's."""
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
        self.lines += [f"### {title}", ""] + ([note, ""] if note else []) + table(head, rows) + [""]
        return by_name

    def budget(self, what, measured, limit, unit="×"):
        self.budgets.append((what, measured, limit, unit))

    def markdown(self, command):
        rows = [
            [what, f"{measured:.2f} {unit}", f"≤ {limit} {unit}", "met" if measured <= limit else "**missed**"]
            for what, measured, limit, unit in self.budgets]
        return "\n".join(
            [f"Measured {datetime.date.today().isoformat()} with `{command}` on {machine()}.", "", "### Budgets", ""]
            + table(["what", "measured", "budget", ""], rows) + [""] + self.lines)


def table(head, rows):
    columns = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    line = lambda row: "| " + " | ".join(str(cell).ljust(columns[i]) for i, cell in enumerate(row)) + " |"
    return [line(head), "|" + "|".join("-" * (width + 2) for width in columns) + "|"] + [line(row) for row in rows]


def machine():
    model = "unknown processor"
    try:
        found = re.search(r"model name\s*: (.*)", open("/proc/cpuinfo").read())
        model = found.group(1) if found else model
    except OSError:
        pass
    try:
        system = dict(line.strip().split("=", 1) for line in open("/etc/os-release") if "=" in line)["PRETTY_NAME"].strip('"')
    except (OSError, KeyError):
        system = platform.platform()
    return f"{os.cpu_count()} × {model}, {system}, Linux {platform.release().split('-')[0]}, load {os.getloadavg()[0]:.1f}"
