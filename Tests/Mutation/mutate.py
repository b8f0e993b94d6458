"""Puts small bugs into the sources, one at a time, and reports which of them no test finds. Run by scripts/mutate.

All of them are compiled into one build of a copy of the tree and switched on by $CACHEFETCH_MUTANT. Every test is run by
itself first, without a bug, and leaves a mark for each mutant whose place it comes by. Then each mutant is tried against the
tests that come by it, the short ones of suites named like its file before the others, and ends with the first that fails.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = ROOT / ".build" / "mutate"
TREE = WORK / "tree"
# A test that takes less than this by itself is short: most mutants are found by one of them.
SHORT_SECONDS = 0.5
# How long a test may go on before it counts as one that hangs, and a run: of short ones, of any.
HANG_SECONDS = {True: 60, False: 180}
RUN_SECONDS = {True: 120, False: 1200}
# The bytes that the marks have room for, as Mutator.swift has it.
MARKS = 65536
# More than there are places for.
EVERY = MARKS
# A test that fails says so with this sign; the summary of the run has it too.
FAILED = re.compile(r"✘ (?:Test|Suite) (.*?) (?:recorded an issue|failed)")


def say(text):
    print(text, file=sys.stderr, flush=True)


def copy_tree():
    """A fresh copy of what git knows of; its build folder stays."""
    TREE.mkdir(parents=True, exist_ok=True)
    for entry in TREE.iterdir():
        if entry.name != ".build":
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    for name in filter(None, names.decode().split("\0")):
        if (ROOT / name).exists():
            (TREE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, TREE / name, follow_symlinks=False)


def build_mutator():
    """Compiled against the parser that comes with the toolchain."""
    swift = pathlib.Path(shutil.which("swiftc")).resolve()
    libraries = swift.parent.parent / "lib" / "swift" / "host"
    if not (libraries / "SwiftParser.swiftmodule").exists():
        sys.exit(f"error: this toolchain has no SwiftParser in {libraries}")
    program = WORK / "mutator"
    source = HERE / "Mutator.swift"
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return program
    subprocess.run(
        ["swiftc", "-O", "-I", libraries, "-L", libraries, "-Xlinker", "-rpath", "-Xlinker", libraries,
         "-lSwiftSyntax", "-lSwiftParser", "-lSwiftOperators", source, "-o", program], check=True)
    return program


def restore_sources():
    shutil.rmtree(TREE / "Sources")
    shutil.copytree(ROOT / "Sources", TREE / "Sources")


def mutant_at(path, line):
    """The number of the mutant that an error in this line of the copy belongs to."""
    lines = (TREE / path).read_text().split("\n")
    for index in range(min(line, len(lines)) - 1, -1, -1):
        found = re.findall(r"mutant(?:IsOn|One)\((\d+)\)", lines[index])
        if found:
            return [int(number) for number in found]
    return []


def build(mutator, seeds, count, folders):
    """Returns the mutants that compile, with all of them in the build, and how many of each seed do not."""
    excluded = set()
    while True:
        restore_sources()
        listed = subprocess.run(
            [mutator, TREE, ",".join(map(str, seeds)), str(count), folders, *map(str, sorted(excluded))], check=True, capture_output=True)
        built = subprocess.run(
            ["swift", "build", "--build-tests"], cwd=TREE, capture_output=True, text=True)
        if built.returncode == 0:
            mutants = [json.loads(line) for line in listed.stdout.decode().splitlines()]
            left_out = {seed: sum(one["seed"] == seed for one in mutants if one["number"] in excluded) for seed in seeds}
            return [mutant for mutant in mutants if mutant["number"] not in excluded], left_out
        wrong = set()
        for path, line in re.findall(r"(Sources/[^\s:]+\.swift):(\d+):\d+: error", built.stdout + built.stderr):
            wrong.update(mutant_at(path, int(line)))
        if not wrong - excluded:
            sys.exit("error: the copy does not compile:\n" + (built.stdout + built.stderr)[-4000:])
        excluded |= wrong
        say(f"{len(excluded)} do not compile and are left out")


def end_marked(mark):
    """Ends what a run has started and left."""
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                environment = (entry / "environ").read_bytes().split(b"\0")
                # redis-server writes its title over its environment.
                is_inside = os.readlink(entry / "cwd").startswith(mark + "/")
                if is_inside or f"CACHEFETCH_TEST_RUN={mark}".encode() in environment:
                    os.kill(int(entry.name), signal.SIGKILL)
            except (OSError, PermissionError):
                continue


def bundle():
    return next((TREE / ".build" / "debug").glob("*PackageTests.xctest"))


def run_tests(mutant, tests, short=False, reached=None):
    """The first test that fails or hangs, or None where all pass. Under a terminal, so that each line comes at once."""
    folder = tempfile.mkdtemp(prefix="cf-")
    environment = dict(
        os.environ, TMPDIR=folder, CACHEFETCH_TEST_RUN=folder, CACHEFETCH_TEST_SECONDS=str(HANG_SECONDS[short]),
        NO_COLOR="1", TERM="dumb")
    environment.pop("CACHEFETCH_MUTANT", None)
    # Where the command's sandbox lets it be opened.
    marks = pathlib.Path(folder) / "marks"
    if reached is not None:
        marks.write_bytes(bytes(MARKS))
        environment["CACHEFETCH_MUTANTS_REACHED"] = str(marks)
    if mutant is not None:
        environment["CACHEFETCH_MUTANT"] = str(mutant)
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [bundle(), "--testing-library", "swift-testing", *filters(tests)], cwd=TREE, env=environment, stdin=subprocess.DEVNULL,
        stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    ends = time.monotonic() + RUN_SECONDS[short]
    text, verdict = "", None
    os.set_blocking(ours, False)
    while verdict is None:
        ready, _, _ = select.select([ours], [], [], max(0, min(5, ends - time.monotonic())))
        if ready:
            try:
                piece = os.read(ours, 65536)
            except OSError:
                piece = b""
            if not piece:
                break
            text = (text + piece.decode(errors="replace"))[-200_000:]
            found = FAILED.search(text)
            hung = re.search(r"error: a test hangs: (.*?) \(", text)
            if found:
                verdict = found.group(1).strip('"')
            elif hung:
                verdict = f"{hung.group(1)} (hangs)"
        elif time.monotonic() > ends:
            verdict = "the whole run (hangs)"
    if verdict is not None:
        os.killpg(child.pid, signal.SIGKILL)
    status = child.wait()
    os.close(ours)
    end_marked(folder)
    if reached is not None:
        reached.update(number for number, mark in enumerate(marks.read_bytes()) if mark)
    shutil.rmtree(folder, ignore_errors=True)
    # Where no test has such a name, the run says so with a status of its own.
    if verdict is None and status != 0 and " 0 tests in " not in text:
        verdict = f"the run, with status {status}: " + text.strip().split("\n")[-1][:120]
    return verdict


def all_tests():
    """The tests by name, as `target.suite/function(labels:)`."""
    listed = subprocess.run(
        [bundle(), "--testing-library", "swift-testing", "--list-tests"], cwd=TREE, check=True, capture_output=True, text=True)
    return sorted(line for line in listed.stdout.splitlines() if "/" in line)


def filters(tests):
    return ["--filter", "^(" + "|".join(map(escaped, tests)) + ")($|/)"]


def escaped(name):
    return re.sub(r"([\\^$.|?*+()\[\]{}])", r"\\\1", name)


def run_alone(test):
    """Runs a test without a bug; returns the mutants whose place it comes by and the seconds it takes."""
    reached = set()
    started = time.monotonic()
    wrong = run_tests(None, [test], reached=reached)
    if wrong:
        sys.exit(f"error: without a mutant this fails: {test}: {wrong}")
    return reached, time.monotonic() - started


def find(mutant, reach):
    """The first test that fails with the mutant."""
    concept = pathlib.Path(mutant["path"]).stem.split("+")[-1]
    passing = [(seconds, test) for test, (numbers, seconds) in reach.items() if mutant["number"] in numbers]
    short = [test for seconds, test in passing if seconds < SHORT_SECONDS]
    named = [test for test in short if concept in test.split("/")[0]]
    others = [test for test in short if test not in named]
    long = [test for seconds, test in sorted(passing) if seconds >= SHORT_SECONDS]
    stages = [(named, True), (others, True), (long, False)]
    tried = (run_tests(mutant["number"], tests, is_short) for tests, is_short in stages if tests)
    return next(filter(None, tried), None)


def known_equivalents():
    """{(line, original, mutated, above): reason} out of equivalent.json.

    The file lists groups, `[reason, entry, …]`. An entry is `[line, original, mutated]`, with the line's text without its
    indentation. A fourth member tells apart lines of the same text: the lines above, without blank ones and comments.
    """
    groups = json.loads((HERE / "equivalent.json").read_text())
    return {(line, original, mutated, *above): reason
            for reason, *entries in groups for line, original, mutated, *above in entries}


def stands(lines, index, above):
    """Whether a line stands below those lines."""
    wanted = above.split("\n")
    code = (line for line in reversed(lines[:index]) if line and not line.startswith("//"))
    return all(next(code, None) == line for line in reversed(wanted))


def source_lines(path):
    return [line.strip() for line in path.read_text().split("\n")]


def reason_for(mutant, equivalents):
    """Why the mutant is equivalent; None where the list does not have it."""
    lines, index = source_lines(ROOT / mutant["path"]), mutant["line"] - 1
    here = (lines[index], mutant["original"], mutant["mutated"])
    return next((reason for key, reason in equivalents.items()
                 if key[:3] == here and all(stands(lines, index, above) for above in key[3:])), None)


def unmatched(equivalents):
    """The listed lines that no source has any more."""
    places = {}
    for path in sorted((ROOT / "Sources").rglob("*.swift")):
        lines = source_lines(path)
        for index, line in enumerate(lines):
            places.setdefault(line, []).append((lines, index))

    def matches(line, original, mutated, *above):
        return original.split("\n")[0] in line and any(
            all(stands(lines, index, one) for one in above) for lines, index in places.get(line, []))

    return [key for key in equivalents if not matches(*key)]


def one_line(text, limit=90):
    flat = " ".join(text.split()).replace("|", "\\|")
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def report(results, seed, left_out):
    lines = [f"## Seed {seed}", ""]
    rated = [result for result in results if not result.get("equivalent")]
    killed = [result for result in rated if result["found"]]
    lines.append(
        f"{len(results)} mutants, {len(results) - len(rated)} of them equivalent; of the {len(rated)} others "
        f"{len(killed)} are found ({100 * len(killed) // max(1, len(rated))} %). {left_out} did not compile.")
    lines += ["", "| module | found | of |", "|---|--:|--:|"]
    for part in ["CacheStore", "DataService", "DataService/Rules", "DataService/Exchange",
                 "DataService/URLSessionTransport", "Launch", "RedisTier", "cachefetch"]:
        own = [result for result in rated if result["path"].startswith(f"Sources/{part}/")]
        if own:
            lines.append(f"| {part} | {sum(1 for result in own if result['found'])} | {len(own)} |")
    lines += ["", "| # | place | kind | was | became | found by |", "|--:|---|---|---|---|---|"]
    for result in results:
        nobody = "**nobody**" if result["tests"] else "**nobody**: no test comes by"
        found = result["found"] or ("equivalent: " + result["equivalent"] if result.get("equivalent") else nobody)
        place = f"{result['path'].removeprefix('Sources/')}:{result['line']}"
        lines.append(
            f"| {result['number']} | {place} | {result['kind']} | `{one_line(result['original'])}` | "
            f"`{one_line(result['mutated'])}` | {one_line(found, 120)} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(prog="scripts/mutate", description=__doc__.split("\n")[0])
    parser.add_argument(
        "--seed", default=str(int(time.time())), help="which are drawn: a number, or several with commas (default: the time)")
    parser.add_argument("--count", type=lambda text: EVERY if text == "all" else int(text), default=40,
        help="how many are drawn for each seed, or all (default: 40)")
    parser.add_argument(
        "--in", dest="folders", default="", help="the folders below Sources to draw from, with commas (default: all)")
    parser.add_argument("--only", help="numbers of those to try, with commas")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many runs at once (default: one a processor)")
    parser.add_argument("--report", type=pathlib.Path, help="the report's file (default: standard output)")
    options = parser.parse_args()
    seeds = [int(seed) for seed in options.seed.split(",")]
    begun = time.monotonic()
    WORK.mkdir(parents=True, exist_ok=True)
    mutator = build_mutator()
    copy_tree()
    for folder in filter(None, options.folders.split(",")):
        if not (ROOT / "Sources" / folder).is_dir():
            sys.exit(f"error: there is no folder Sources/{folder}; give --in the path of one below Sources")
    equivalents = known_equivalents()
    for line, original, mutated, *_ in unmatched(equivalents):
        say(f"equivalent.json names a line that no source has: {line} ({one_line(original)} became {one_line(mutated)})")
    say(f"building {'all' if options.count == EVERY else options.count} mutants for each of: {options.seed}")
    mutants, left_out = build(mutator, seeds, options.count, options.folders)
    for mutant in mutants:
        mutant["equivalent"] = reason_for(mutant, equivalents)
    wanted = {int(number) for number in options.only.split(",")} if options.only else None
    mutants = [mutant for mutant in mutants if wanted is None or mutant["number"] in wanted]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as jobs:
        tests = all_tests()
        say(f"each of {len(tests)} tests without a mutant")
        reach = dict(zip(tests, jobs.map(run_alone, tests)))

        def tried(mutant):
            mutant["tests"] = sum(mutant["number"] in numbers for numbers, _ in reach.values())
            mutant["found"] = None if mutant["equivalent"] else find(mutant, reach)
            said = mutant["equivalent"] and "equivalent" or mutant["found"] or "NOBODY"
            say(f"{mutant['number']:3} {mutant['path']}:{mutant['line']} {mutant['kind']} ({mutant['tests']} tests): {said}")
            return mutant

        results = list(jobs.map(tried, mutants))
    parts = [report([one for one in results if one["seed"] == seed], seed, left_out[seed]) for seed in seeds]
    text = f"# Mutants\n\nTried in {int(time.monotonic() - begun)} s.\n\n" + "\n".join(parts)
    if options.report:
        options.report.write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
