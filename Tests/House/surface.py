"""Lists the public symbols of the library's products, from the modules of a debug build; run by
scripts/house --surface. Fails where the list is another than Tests/House/surface.txt.

usage: surface.py TOOLCHAIN BUILD [--record]      --record writes Tests/House/surface.txt
"""
import difflib
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIST = ROOT / "Tests" / "House" / "surface.txt"
# The libraries of Package.swift, each below what it is built on.
MODULES = ["CacheStore", "DataService", "Launch", "RedisTier", "URLSessionTransport", "DataServiceTesting",
           "FixtureServer"]
# What `import DataService` brings with it (the first line of Sources/DataService/API/DataService.swift).
APPLICATION = ["CacheStore", "DataService"]
HEADER = f"""\
# What a program can write that imports the products: a section for each module, a symbol a line, by path. `scripts/check` fails
# where the sources have another list; `scripts/house --surface --record` writes it anew. `import DataService` brings {" and ".join(APPLICATION)}.
"""


def target(toolchain):
    info = subprocess.run([toolchain / "swift", "-print-target-info"], capture_output=True, check=True, text=True)
    return json.loads(info.stdout)["target"]["unversionedTriple"]


def graphs(module, toolchain, build, folder):
    """The symbols of a module: its own, and those that it adds to types of others."""
    arguments = [toolchain / "swift-symbolgraph-extract", "-module-name", module, "-target", target(toolchain),
                 "-I", build / "Modules", "-minimum-access-level", "public", "-skip-synthesized-members",
                 "-output-dir", folder]
    # The modules of C that the Swift ones import.
    for map_file in [*sorted(ROOT.glob("Sources/*/module.modulemap")), *sorted(build.glob("*.build/module.modulemap"))]:
        arguments += ["-Xcc", f"-fmodule-map-file={map_file}"]
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: swift-symbolgraph-extract {module}:\n{done.stderr}")
    for file in sorted(pathlib.Path(folder).glob(f"{module}*.symbols.json")):
        yield file.stem, json.loads(file.read_text())["symbols"]


def lines(module, toolchain, build):
    found = set()
    with tempfile.TemporaryDirectory() as folder:
        for _, symbols in graphs(module, toolchain, build, folder):
            for symbol in symbols:
                path = ".".join(symbol["pathComponents"])
                declaration = "".join(part["spelling"] for part in symbol["declarationFragments"])
                found.add(f"{path}: {' '.join(declaration.split())}")
    return sorted(found)


def text(sections):
    parts = [HEADER]
    for module, symbols in sections.items():
        parts.append("".join(f"{line}\n" for line in [f"== {module}", *symbols]))
    return "\n".join(parts)


def main(toolchain, build, mode=None):
    sections = {module: lines(module, pathlib.Path(toolchain), pathlib.Path(build)) for module in MODULES}
    found = text(sections)
    for module, symbols in sections.items():
        print(f"{len(symbols):5} {module}", file=sys.stderr)
    print(f"{sum(len(sections[name]) for name in APPLICATION):5} of these with `import DataService`", file=sys.stderr)
    if mode == "--record":
        LIST.write_text(found)
    elif mode is not None:
        sys.exit(__doc__.strip())
    else:
        recorded = LIST.read_text() if LIST.exists() else ""
        changes = list(difflib.unified_diff(recorded.splitlines(), found.splitlines(), n=0, lineterm=""))[2:]
        if changes:
            print("\n".join(line for line in changes if not line.startswith("@@")))
            sys.exit("error: what the products make public is not what Tests/House/surface.txt says; "
                     "where that is meant: scripts/house --surface --record")


main(*sys.argv[1:])
