"""Counts how much there is to know of the sources, as a table in Markdown; run by scripts/house.

usage: house.py COMMAND ORIGIN | --check
"""
import collections
import pathlib
import re
import sys

import circles
import entered
import imports
import locks
import members
import swift_source

SOURCES = pathlib.Path(__file__).resolve().parent.parent.parent / "Sources"
SHORT, LONG = 40, 400
# One column of the database and its property: whoever adds another like it writes in about as many files.
COLUMN = re.compile(r"\b(?:exchange_ms|exchangeMilliseconds)\b")


def target_of(path):
    return path.relative_to(SOURCES).parts[0]


def in_all(counts):
    """`12: CacheStore 5, DataService 7`"""
    return f"{sum(counts.values())}: " + ", ".join(f"{name} {count}" for name, count in counts.items() if count)


def traced(targets, command, origin):
    functions, files = entered.functions_and_files(command, origin, SOURCES)
    swift = [target.name for target in targets]
    names = swift + sorted({target_of(path) for path in files} - set(swift))

    def by_target(paths):
        found = collections.Counter(map(target_of, paths))
        return in_all({name: found[name] for name in names})

    owners = {(file.path, line): owner for target in targets for file in target.files
              for line, owner in target.owners[file].items()}
    types = {(target_of(path), owners[path, line]) for path, line in functions if owners.get((path, line))}
    return [
        ("functions entered by one request", by_target(path for path, _ in functions),
         "`cachefetch URL`, a debug build, with a stored response, answered 200 with another body; from start to exit, under "
         "callgrind. A function is a `func`, `init`, `deinit`, `subscript` or computed property with a body of its own, or one "
         "of C. Closures, thunks, witnesses and what the compiler adds are not counted. "
         f"Counted is what each of {entered.RUNS} runs enters: timing decides about some functions"),
        ("types whose functions are entered", in_all(collections.Counter(target for target, _ in sorted(types))),
         "the type in which the function is declared"),
        ("files entered", by_target(files), "those of the functions, and of closures entered"),
    ]


def of_circles(targets):
    for target in targets:
        steps = circles.steps(target)
        pairs = [f"{a} and {b}" for a, b in sorted(steps) if a < b and (b, a) in steps]
        largest = max(map(len, circles.groups(steps)), default=0)
        yield (f"circles of two folders in {target.name}", ": ".join(filter(None, [str(len(pairs)), ", ".join(pairs)])),
               "a type declared in one is named in the other, and back")
        if largest:
            yield (f"folders of {target.name} that lead to each other", f"{largest}", "directly or by way of others")
    for target in targets:
        if target.name in ("CacheStore", "DataService"):
            sizes = [max(map(len, circles.groups(circles.file_steps(target, with_extensions))), default=0)
                     for with_extensions in (True, False)]
            yield (f"largest circle of files in {target.name}", f"{sizes[1]}; {sizes[0]} with extensions",
                   "each leads to each by the types it names; the second counts that an extension names its type, too")


def of_files(targets):
    files = [file for target in targets for file in target.files]
    lines = [len(file.text.splitlines()) for file in files]
    code = sum(bool(line.strip()) for file in files
               for line in swift_source.code(file.text, with_literals=True).split("\n"))
    naming = [path for path in SOURCES.rglob("*") if path.suffix in (".swift", ".sql") and COLUMN.search(path.read_text())]
    mutexes = {target.name: sum(len(locks.LOCK.findall(swift_source.code(file.text))) for file in target.files)
               for target in targets}
    return [
        ("files that name one column of `last_request`", f"{len(naming)}; wanted: `schema.sql`, a coder and whose rule it is",
         "`exchange_ms` or the property that holds it, `schema.sql` included"),
        (f"files under {SHORT} lines / of all", f"{sum(count < SHORT for count in lines)} / {len(lines)}; wanted: 25 / 220",
         "of Swift, in `Sources`"),
        (f"files over {LONG} lines", f"{sum(count > LONG for count in lines)}; wanted: 0", "of Swift, in `Sources`"),
        ("mutexes", in_all(mutexes) + "; wanted in DataService: 10", "properties that are a `Mutex`, or one with a value (`Guarded`), static ones included"),
        ("lines of Swift", f"{sum(lines)}; {code} of code; wanted: 23000", "in `Sources`; those of code are neither blank nor comment alone"),
    ]


def of_members(targets):
    yield ("members that are internal for the type's own extensions alone",
           f"{len(list(members.found(targets, SOURCES.parent)))}; wanted: 0",
           "of a type in `X.swift` and `X+*.swift`: named by several of these files, and by no other file or test")


def main(arguments):
    targets = [swift_source.Target(folder) for folder in sorted(SOURCES.iterdir()) if any(folder.rglob("*.swift"))]
    if arguments == ["--check"]:
        problems = circles.check(targets) + imports.check(SOURCES.parent) + (
            locks.check(targets, SOURCES.parent) + members.check(targets, SOURCES.parent))
        if problems:
            sys.exit("error: " + "\n".join(problems))
    elif len(arguments) != 2:
        sys.exit(__doc__.strip())
    else:
        print("| | now | how it is counted |\n|---|---|---|")
        for row in [*traced(targets, *arguments), *of_circles(targets), *of_files(targets), *of_members(targets)]:
            print(f"| {' | '.join(row)} |", flush=True)


main(sys.argv[1:])
