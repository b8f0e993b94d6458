"""Circles between the folders of a target: a type of one is named in the other, and back, directly or by way of others.

An extension of a type counts as naming it, unless it holds nothing but types: then it only says what they are called.

The list beside this file has one line for every step that is part of a circle. It may only become shorter: a new circle has a
step that is not in it, and a step that is in no circle any more has to go from it.
"""
import collections
import pathlib

LIST = pathlib.Path(__file__).with_name("circles.txt")
HEAD = """\
# Steps between folders of a target that are part of a circle: files of the first name types of the second.
# `scripts/house --check` fails where the sources have one that is not here, or no longer one that is; `scripts/house --record`
# takes out what is gone. Where folders were renamed, remove this file and record it anew.
"""


def steps(target):
    """From folder to folder: which types of the second the files of the first name, and where."""
    result = collections.defaultdict(set)
    for file in target.files:
        for name, where in target.named[file] | target.extended[file]:
            if where.folder != file.folder:
                result[file.folder, where.folder].add((name, file.name))
    return result


def file_steps(target, with_extensions):
    result = set()
    for file in target.files:
        named = target.named[file] | (target.extended[file] if with_extensions else set())
        result |= {(file.name, where.name) for _, where in named}
    return result


def reach(start, after):
    seen, waiting = {start}, [start]
    while waiting:
        for other in after[waiting.pop()] - seen:
            seen.add(other)
            waiting.append(other)
    return seen


def groups(edges):
    """Sets in which every member leads to every other, the largest first; nobody alone is one."""
    after, before = collections.defaultdict(set), collections.defaultdict(set)
    for first, second in edges:
        after[first].add(second)
        before[second].add(first)
    result, seen = [], set()
    for start in sorted({first for first, _ in edges}):
        if start not in seen:
            group = reach(start, after) & reach(start, before)
            seen |= group
            if len(group) > 1:
                result.append(group)
    return sorted(result, key=len, reverse=True)


def in_circles(edges):
    group_of = {member: number for number, group in enumerate(groups(edges)) for member in group}
    return {(a, b) for a, b in edges if a in group_of and group_of[a] == group_of.get(b)}


def shortest(edge, edges):
    """The shortest circle that begins with a step, as its folders."""
    after = collections.defaultdict(list)
    for first, second in sorted(edges):
        after[first].append(second)
    waiting, seen = [[edge[0], edge[1]]], {edge[1]}
    for path in waiting:
        for other in after[path[-1]]:
            if other == edge[0]:
                return path
            if other not in seen:
                seen.add(other)
                waiting.append(path + [other])
    return [edge[0], edge[1]]


def listed():
    """By target: the steps on the list."""
    result = collections.defaultdict(set)
    for line in LIST.read_text().splitlines():
        if line and not line.startswith("#"):
            target, _, rest = line.partition(": ")
            if " <-> " in rest:
                first, second = rest.split(" <-> ")
                result[target] |= {(first, second), (second, first)}
            else:
                first, second = rest.split(" -> ")
                result[target].add((first, second))
    return result


def lines(target, edges):
    for first, second in sorted(edges):
        if (second, first) not in edges:
            yield f"{target}: {first} -> {second}"
        elif first < second:
            yield f"{target}: {first} <-> {second}"


def check(targets):
    """What is wrong, in lines for people."""
    problems, known = [], listed()
    for target in targets:
        found = steps(target)
        now, before = in_circles(found), known.pop(target.name, set())
        shown = set()
        for edge in sorted(now - before):
            ring = shortest(edge, found)
            if frozenset(ring) in shown:
                continue
            shown.add(frozenset(ring))
            problems.append(f"{target.name}: a new circle of folders: {' -> '.join(ring + ring[:1])}")
            for first, second in zip(ring, ring[1:] + ring[:1]):
                note = "" if (first, second) in before else ", new in a circle"
                problems.append(f"    {first} names types of {second}{note}:")
                problems += shown_types(found[first, second])
        problems += gone(target.name, before - now)
    for name, edges in known.items():
        problems += gone(name, edges)
    return problems


def gone(target, edges):
    return [f"{target}: {first} -> {second} is in no circle any more; take it out of Tests/House/{LIST.name} "
            "(scripts/house --record does)" for first, second in sorted(edges)]


def shown_types(uses, most=6):
    by_type = collections.defaultdict(list)
    for name, file in sorted(uses):
        by_type[name].append(file)
    result = [f"        {name} in {files[0]}{f' and {len(files) - 1} more' if len(files) > 1 else ''}"
              for name, files in sorted(by_type.items(), key=lambda entry: (len(entry[1]), entry[0]))]
    return result[:most] + ([f"        and {len(result) - most} more types"] if len(result) > most else [])


def record(targets):
    """Takes out of the list what is gone; adds nothing."""
    known = listed() if LIST.exists() else None
    text = HEAD
    for target in targets:
        edges = in_circles(steps(target))
        if known is not None:
            edges &= known[target.name]
        text += "".join(line + "\n" for line in lines(target.name, edges))
    LIST.write_text(text)
