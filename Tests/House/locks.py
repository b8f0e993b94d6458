"""Compares the locks of the sources with the tables of locks in docs/architecture.md; run by scripts/house --check."""
import pathlib
import re

import swift_source

PAGE = pathlib.Path("docs/architecture.md")
LOCK = re.compile(r"\b(?:let|var) +(\w+) *(?:: *(?:Mutex|Guarded|GuardedWork)<|= *(?:Mutex|Guarded|GuardedWork)[<(])")
# The forms of a lock, which hold the `Mutex` that the table means.
FORMS = "Guards"


def of(targets):
    """`Type.property` of each lock, with its place."""
    for target in targets:
        for file in target.files if target.name != FORMS else []:
            for number, line in enumerate(swift_source.code(file.text).split("\n"), 1):
                if found := LOCK.search(line):
                    yield f"{target.owners[file][number][-1]}.{found[1]}", f"{target.name}/{file.name}:{number}"


def listed(page):
    """The locks in the first columns of the tables that begin with `| lock | guards |`."""
    inside = False
    for line in page.split("\n"):
        inside = line.startswith("| lock | guards |") or inside and line.startswith("|")
        if inside:
            names = re.findall(r"`(\w+(?:\.\w+)+)`(?!.*\(pthread\))", line.split("|")[1])
            # A type is known by its own name, without those of the types it is in.
            yield from (".".join(name.split(".")[-2:]) for name in names)


def check(targets, root):
    """What is wrong, in lines for people."""
    now, known = dict(of(targets)), set(listed((root / PAGE).read_text()))
    problems = [f"{place}: the lock {name} is not in the tables of {PAGE}"
                for name, place in now.items() if name not in known]
    return problems + [f"{PAGE}: there is no lock {name}" for name in sorted(known - set(now))]
