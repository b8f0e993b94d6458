"""usage: python3 Benchmarks/harness [--quick] [--record] [--runs=N] [--size=MIB] [SCENE...]

Scenes: start stored refresh cold https preload launch anticipation big
rows tier processes following ending stampede; all of them unless some are named.
--quick keeps it within two minutes. --runs measures so often: each budget is judged by the median of the runs, the
tables are the last one's. --record writes what was measured into the day's file in Benchmarks/results and draws
docs/pictures. --size is that of the large body, 100 without it.

Alone: shapes, which compares sizes of pages and chunks; --record writes its table into Benchmarks/results/shapes.md.
"""

import os
import sys
import time

import picture
import shapes
import tools
from report import Report
from scenes import Bench
from tools import build_all, python_peers, root, say

names = ["start", "stored", "refresh", "cold", "https", "preload", "launch", "anticipation", "big", "rows", "tier", "processes", "following", "ending", "stampede"]
# Many processes at once, which are not kept to one core.
crowds = {"processes", "following", "ending", "stampede"}
# By the title of their scene.
pictures = {
    "Process start to first stored byte, 10k": (
        "start", "From the start of a process to the first byte, 10 kB",
        "Median and the range from the 5th to the 95th percentile; from an origin on the same machine where one is asked"),
    "Stored delivery in process, 10 kB": (
        "stored", "From a look-up to what is stored, in process, 10 kB",
        "Median and the range from the 5th to the 95th percentile"),
}


def main():
    arguments = sys.argv[1:]
    sizes = [int(word[7:]) << 20 for word in arguments if word.startswith("--size=")]
    runs = [int(word[7:]) for word in arguments if word.startswith("--runs=")] or [1]
    options = {word for word in arguments if word.startswith("--") and not word.startswith(("--size=", "--runs="))}
    chosen = [word for word in arguments if not word.startswith("--")] or names
    if options - {"--quick", "--record"} or (set(chosen) - set(names) and chosen != ["shapes"]):
        raise SystemExit(__doc__)
    if "shapes" in chosen:
        return shapes.run("--quick" in options, "--record" in options)
    cachefetch = build_all()
    python, reason = python_peers()
    # With authorities of this machine's own, nothing is shared with a fleet.
    for name in ("CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        os.environ.pop(name, None)
    command = " ".join(["scripts/bench", *arguments])
    budgets = {}
    for _ in range(runs[0]):
        report = Report(budgets)
        if reason:
            report.note(f"Not measured: {reason}.")
        measure(report, Bench("--quick" in options, cachefetch, python, report, *sizes), chosen, command)
    text = report.markdown(command)
    print(text)
    if "--record" in options:
        report.record(root / "Benchmarks/results")
        for scene, (name, title, subtitle) in pictures.items():
            if scene in report.scenes:
                picture.draw(root / "docs/pictures" / f"{name}.svg", title, subtitle, report.scenes[scene])


def measure(report, bench, chosen, command):
    if not (root / ".build/start-order.txt").exists():
        report.note("The binary is linked without a recorded order of its symbols: scripts/build-release --record-order.")
    if not bench.servers.has_varnish:
        report.note("Not measured: Varnish is not installed.")
    try:
        for name in chosen:
            say(f"scene: {name}")
            begun = time.monotonic()
            tools.pinned = name not in crowds
            getattr(bench, name)()
            say(f"{name}: {time.monotonic() - begun:.0f} s")
    except BaseException:
        # Half an hour's measuring is not lost with one scene; it is shown, not recorded.
        print(report.markdown(command))
        raise
    finally:
        bench.close()


main()
