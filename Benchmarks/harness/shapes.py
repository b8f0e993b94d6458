"""Which page size and which chunk size: the same work on stores of every shape, in alternation."""

import datetime
import pathlib
import shutil
import statistics
import subprocess

from report import machine, table
from tools import build, output, root, say, scratch

pages = [4096, 8192, 16384, 32768]
chunks = [64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20]


def run(quick, record):
    # The driver, since the size of a page is no option of the public library.
    place = build / "driver"
    subprocess.run(
        ["swift", "build", "-c", "release", "--scratch-path", place, "--product", "StoreDriver"],
        cwd=root, check=True, stdout=2)
    driver = place / "release/StoreDriver"
    folder = pathlib.Path(scratch())
    found = {(page, chunk): {} for page in pages for chunk in chunks}
    try:
        for number in range(3 if quick else 9):
            say(f"round {number + 1}")
            shapes = list(found)
            turn = number * 7 % len(shapes)
            for shape in shapes[turn:] + shapes[:turn]:
                measure(driver, folder, shape, found[shape])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    text = report(found, "scripts/bench shapes" + (" --quick" if quick else ""))
    print(text)
    if record:
        page = root / "Benchmarks/results/shapes.md"
        page.parent.mkdir(exist_ok=True)
        page.write_text(f"# Sizes of pages and chunks\n\n{text}\n")


def measure(driver, folder, shape, results):
    for name, kinds in (("small", ["small"]), ("long", ["write", "read"])):
        store = folder / f"{name}.sqlite"
        for path in folder.glob(f"{name}.sqlite*"):
            path.unlink()
        for kind in kinds:
            for line in output(driver, "shape", store, *map(str, shape), kind).splitlines():
                key, value = line.split()
                results.setdefault(f"{kind} {key}", []).append(float(value))


def report(found, command):
    rows = []
    for (page, chunk), results in found.items():
        median = {key: statistics.median(values) for key, values in results.items()}
        rows.append([
            f"{page >> 10} KiB", f"{chunk >> 10} KiB", f"{median['small look'] / 1e3:.1f} µs",
            f"{median['small overwrite'] / 1e3:.0f} µs", f"{median['write write'] / 1e6:.0f} ms",
            f"{median['read read'] / 1e6:.0f} ms", f"{median['small file_bytes'] / 1e6:.1f} MB",
            f"{median['read file_bytes'] / 1e6:.1f} MB",
            f"{max(results['write peak_kib'] + results['read peak_kib']) / 1024:.1f} MiB"])
    head = ["page", "chunk", "look, 10 kB", "overwrite, 10 kB", "write 64 MiB", "read 64 MiB", "1,000 rows", "64 MiB", "peak"]
    when = datetime.date.today().isoformat()
    return "\n".join(
        [f"Measured {when} with `{command}` on {machine()}: processor time of all threads, medians of "
         f"{len(next(iter(found.values()))['write write'])} rounds in alternation; the size of the file with a thousand "
         "rows of 10 kB and with one body of 64 MiB; the peak memory of writing and reading that body.", ""]
        + table(head, rows))
