"""Markdown tables of medians, spread and ratios, and the verdict on each budget."""

import datetime
import os
import platform
import re
import statistics


def duration(nanoseconds):
    for limit, divisor, unit in ((1e4, 1e3, "µs"), (1e6, 1e3, "µs"), (1e9, 1e6, "ms")):
        if nanoseconds < limit:
            value = nanoseconds / divisor
            return f"{value:.1f} {unit}" if value < 100 else f"{value:.0f} {unit}"
    return f"{nanoseconds / 1e9:.2f} s"


class Report:
    def __init__(self, budgets=None):
        self.lines = []
        # The samples of each scene, by its title.
        self.scenes = {}
        # What is promised, with the measurement of each run.
        self.budgets = {} if budgets is None else budgets

    def text(self, *lines):
        self.lines += [*lines, ""]

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
        self.lines += [f"### {title}", ""] + ([note, ""] if note else []) + table(head, rows) + [""]
        return by_name

    def budget(self, what, measured, limit, unit="×"):
        self.budgets.setdefault(what, (limit, unit, []))[2].append(measured)

    def markdown(self, command):
        rows = []
        for what, (limit, unit, measured) in self.budgets.items():
            median = statistics.median(measured)
            spread = f" ({min(measured):.2f} to {max(measured):.2f})" if len(measured) > 1 else ""
            rows.append([what, f"{median:.2f} {unit}{spread}", f"≤ {limit} {unit}", "met" if median <= limit else "**missed**"])
        runs = max((len(measured) for _, _, measured in self.budgets.values()), default=1)
        several = [f"Of {runs} runs, the median and the range; the tables below are the last run's.", ""] if runs > 1 else []
        return "\n".join(
            [f"Measured {datetime.date.today().isoformat()} with `{command}` on {machine()}.", "", "### Budgets", "", *several]
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
