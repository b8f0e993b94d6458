"""usage: start_order.py BINARY TRACE > NAMES

Names of BINARY's functions and variables in the order in which a run first used them. TRACE is what valgrind's lackey
says of a stripped copy of it with --trace-mem=yes. What the loader relocates does not count as used.
"""

import bisect
import re
import subprocess
import sys

bases = (0x108000, 0x400000)  # where valgrind puts a position-independent program
loader = range(0x4000000, 0x4040000)


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main(binary, trace):
    symbols = []
    for line in output("nm", "-n", "--defined-only", binary).split("\n"):
        words = line.split()
        if len(words) == 3 and words[1].lower() in "tbd":
            symbols.append((int(words[0], 16), words[2]))
    starts = [address for address, _ in symbols]
    entry = int(re.search(r"Entry point address:\s+0x([0-9a-f]+)", output("readelf", "-h", binary))[1], 16)
    base, is_loader, used, names = None, True, set(), {}
    for line in open(trace, errors="replace"):
        kind, address = line[:2], line[3:].split(",")[0].strip()
        if kind not in ("I ", " L", " S", " M") or not re.fullmatch("[0-9a-f]+", address):
            continue
        address = int(address, 16)
        if base is None:
            if kind == "I " and address - entry in bases:
                base = address - entry
            continue
        if kind == "I ":
            is_loader = address in loader
        if is_loader or not base <= address < base + starts[-1] + 4096:
            continue
        place = bisect.bisect_right(starts, address - base) - 1
        if place < 0 or starts[place] in used:
            continue
        used.add(starts[place])
        first = bisect.bisect_left(starts, starts[place])
        for _, name in symbols[first:place + 1]:
            names[name] = None
    if not names:
        raise SystemExit("the trace has nothing of the program: was it run at another address?")
    print("\n".join(names))


main(*sys.argv[1:])
