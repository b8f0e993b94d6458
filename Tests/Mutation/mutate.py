"""Puts small bugs into the sources, one at a time, and reports which of them no test finds. Run by scripts/mutate.

All of them are compiled into one build of a copy of the tree and switched on by $CACHEFETCH_MUTANT. Each is tried against
the tests named like its file, then those of its module, then all others, and ends with the first that fails.
"""
import argparse
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
MODULE_TESTS = {
    "CacheStore": "CacheStoreTests",
    "DataService": "DataServiceTests",
    "Launch": "LaunchTests",
    "URLSessionTransport": "DataServiceTests",
    "cachefetch": "cachefetchTests",
}
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


def build(mutator, seed, count):
    """Returns the mutants that compile, with all of them in the build."""
    excluded = set()
    while True:
        restore_sources()
        listed = subprocess.run(
            [mutator, TREE, str(seed), str(count), *map(str, sorted(excluded))], check=True, capture_output=True)
        built = subprocess.run(
            ["swift", "build", "--build-tests"], cwd=TREE, capture_output=True, text=True)
        if built.returncode == 0:
            mutants = [json.loads(line) for line in listed.stdout.decode().splitlines()]
            return [mutant for mutant in mutants if mutant["number"] not in excluded], len(excluded)
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
                if f"CACHEFETCH_TEST_RUN={mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                    os.kill(int(entry.name), signal.SIGKILL)
            except (OSError, PermissionError):
                continue


def run_tests(mutant, arguments, seconds):
    """The first test that fails, "hang", or None where all pass. Under a terminal, so that each line comes at once."""
    bundle = next((TREE / ".build" / "debug").glob("*PackageTests.xctest"))
    folder = tempfile.mkdtemp(prefix="cf-")
    environment = dict(
        os.environ, TMPDIR=folder, CACHEFETCH_TEST_RUN=folder, CACHEFETCH_TEST_SECONDS="90",
        NO_COLOR="1", TERM="dumb")
    environment.pop("CACHEFETCH_MUTANT", None)
    if mutant is not None:
        environment["CACHEFETCH_MUTANT"] = str(mutant)
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [bundle, "--testing-library", "swift-testing", *arguments], cwd=TREE, env=environment, stdin=subprocess.DEVNULL,
        stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    ends = time.monotonic() + seconds
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
    shutil.rmtree(folder, ignore_errors=True)
    # Where no test has such a name, the run says so with a status of its own.
    if verdict is None and status != 0 and " 0 tests in " not in text:
        verdict = f"the run, with status {status}: " + text.strip().split("\n")[-1][:120]
    return verdict


def test_order(path):
    """The tests named like the file, which most often find it and take a second; those of its module; all others."""
    module = MODULE_TESTS[path.split("/")[1]]
    concept = pathlib.Path(path).stem.split("+")[-1]
    return [["--filter", rf"{module}\..*{concept}"], ["--filter", rf"^{module}\."], ["--skip", rf"^{module}\."]]


def known_equivalents():
    """{(path, line's text, original, mutated): reason} out of equivalent.json."""
    listed = json.loads((HERE / "equivalent.json").read_text())
    return {(one["path"], one["line"], one["original"], one["mutated"]): one["reason"] for one in listed}


def source_line(mutant):
    return (ROOT / mutant["path"]).read_text().split("\n")[mutant["line"] - 1].strip()


def one_line(text, limit=90):
    flat = " ".join(text.split()).replace("|", "\\|")
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def report(results, seed, left_out, seconds):
    lines = [f"# Mutants of seed {seed}", ""]
    rated = [result for result in results if not result.get("equivalent")]
    killed = [result for result in rated if result["found"]]
    lines.append(
        f"{len(results)} mutants, {len(results) - len(rated)} of them equivalent; of the {len(rated)} others "
        f"{len(killed)} are found ({100 * len(killed) // max(1, len(rated))} %). {left_out} did not compile. {seconds} s.")
    lines += ["", "| module | found | of |", "|---|--:|--:|"]
    for part in ["CacheStore", "DataService", "DataService/CachingRules", "DataService/Exchanging", "Launch",
                 "URLSessionTransport", "cachefetch"]:
        own = [result for result in rated if result["path"].startswith(f"Sources/{part}/")]
        if own:
            lines.append(f"| {part} | {sum(1 for result in own if result['found'])} | {len(own)} |")
    lines += ["", "| # | place | kind | was | became | found by |", "|--:|---|---|---|---|---|"]
    for result in results:
        found = result["found"] or ("equivalent: " + result["equivalent"] if result.get("equivalent") else "**nobody**")
        place = f"{result['path'].removeprefix('Sources/')}:{result['line']}"
        lines.append(
            f"| {result['number']} | {place} | {result['kind']} | `{one_line(result['original'])}` | "
            f"`{one_line(result['mutated'])}` | {one_line(found, 120)} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(prog="scripts/mutate", description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=int(time.time()), help="which are drawn (default: the time)")
    parser.add_argument("--count", type=int, default=40, help="how many are drawn (default: 40)")
    parser.add_argument("--only", help="numbers of those to try, with commas")
    parser.add_argument("--report", type=pathlib.Path, help="the report's file (default: standard output)")
    options = parser.parse_args()
    begun = time.monotonic()
    WORK.mkdir(parents=True, exist_ok=True)
    mutator = build_mutator()
    copy_tree()
    say(f"seed {options.seed}: building {options.count} mutants")
    mutants, left_out = build(mutator, options.seed, options.count)
    say("all tests without a mutant")
    started = time.monotonic()
    wrong = run_tests(None, [], 1800)
    if wrong:
        sys.exit(f"error: without a mutant this fails: {wrong}")
    # Three times what all take is a hang.
    limit = int(3 * (time.monotonic() - started)) + 60
    equivalents = known_equivalents()
    wanted = {int(number) for number in options.only.split(",")} if options.only else None
    results = []
    for mutant in mutants:
        if wanted is not None and mutant["number"] not in wanted:
            continue
        mutant["equivalent"] = equivalents.get(
            (mutant["path"], source_line(mutant), mutant["original"], mutant["mutated"]))
        mutant["found"] = None
        if not mutant["equivalent"]:
            mutant["found"] = next(filter(None, (
                run_tests(mutant["number"], arguments, limit) for arguments in test_order(mutant["path"]))), None)
        results.append(mutant)
        say(f"{mutant['number']:3} {mutant['path']}:{mutant['line']} {mutant['kind']}: {mutant['found'] or 'NOBODY'}")
        text = report(results, options.seed, left_out, int(time.monotonic() - begun))
        if options.report:
            options.report.write_text(text)
    if not options.report:
        print(text, end="")


main()
