"""usage: python3 Benchmarks/harness [--quick] [--record] [--size=MIB] [SCENE...]

Scenes: start stored refresh cold preload launch anticipation big
rows processes following ending stampede; all of them unless some are named.
--quick keeps it within two minutes; --record writes the result into docs/performance.md; --size is that of the large
body, 1024 without it, 256 with --quick.

Alone: shapes, which compares sizes of pages and chunks; --record writes its table into docs/storage.md.
"""

import re
import sys
import time

import shapes
from report import Report
from scenes import Bench
from tools import build_all, python_peers, root, say

names = ["start", "stored", "refresh", "cold", "preload", "launch", "anticipation", "big", "rows", "processes", "following", "ending", "stampede"]


def main():
    arguments = sys.argv[1:]
    sizes = [int(word[7:]) << 20 for word in arguments if word.startswith("--size=")]
    options = {word for word in arguments if word.startswith("--") and not word.startswith("--size=")}
    chosen = [word for word in arguments if not word.startswith("--")] or names
    if options - {"--quick", "--record"} or (set(chosen) - set(names) and chosen != ["shapes"]):
        raise SystemExit(__doc__)
    if "shapes" in chosen:
        return shapes.run("--quick" in options, "--record" in options)
    cachefetch = build_all()
    python, reason = python_peers()
    report = Report()
    if reason:
        report.text(f"Not measured: {reason}.")
    bench = Bench("--quick" in options, cachefetch, python, report, *sizes)
    if not bench.servers.has_varnish:
        report.text("Not measured: Varnish is not installed.")
    command = " ".join(["scripts/bench", *arguments])
    try:
        for name in chosen:
            say(f"scene: {name}")
            begun = time.monotonic()
            getattr(bench, name)()
            say(f"{name}: {time.monotonic() - begun:.0f} s")
    except BaseException:
        # Half an hour's measuring is not lost with one scene; it is shown, not recorded.
        print(report.markdown(command))
        raise
    finally:
        bench.close()
    text = report.markdown(command)
    print(text)
    if "--record" in options:
        page = root / "docs/performance.md"
        marks = r"(<!-- results -->\n).*(<!-- end of results -->)"
        page.write_text(re.sub(marks, lambda found: found[1] + "\n" + text + "\n" + found[2], page.read_text(), flags=re.S))


main()
