"""Circles: between the folders of a target, and between its files, by the types they name.

An extension of a type counts as naming it, unless it holds nothing but types: then it only says what they are called. Between
files extensions are left out: one that adds to a type stands beside it, not below.
"""
import collections


def steps(target):
    """From folder to folder: which types of the second the files of the first name, and where."""
    result = collections.defaultdict(set)
    for file in target.files:
        for name, where in target.named[file] | target.extended[file]:
            if where.folder != file.folder:
                result[file.folder, where.folder].add((name, file.name))
    return result


def file_steps(target, with_extensions):
    """From file to file: which types of the second the first names."""
    result = collections.defaultdict(set)
    for file in target.files:
        for name, where in target.named[file] | (target.extended[file] if with_extensions else set()):
            result[file.name, where.name].add((name, file.name))
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


def rings(edges):
    """The shortest circle through each step that is part of one, each circle once."""
    result = {}
    for group in groups(edges):
        within = {edge for edge in edges if group.issuperset(edge)}
        for edge in sorted(within):
            ring = shortest(edge, within)
            result.setdefault(frozenset(ring), ring)
    return list(result.values())


def check(targets):
    """What is wrong, in lines for people."""
    problems = []
    for target in targets:
        for what, found in (("folders", steps(target)), ("files", file_steps(target, with_extensions=False))):
            for ring in rings(found):
                problems.append(f"{target.name}: a circle of {what}: {' -> '.join(ring + ring[:1])}")
                for first, second in zip(ring, ring[1:] + ring[:1]):
                    problems.append(f"    {first} names types of {second}:")
                    problems += shown_types(found[first, second])
    return problems


def shown_types(uses, most=6):
    by_type = collections.defaultdict(list)
    for name, file in sorted(uses):
        by_type[name].append(file)
    result = [f"        {name} in {files[0]}{f' and {len(files) - 1} more' if len(files) > 1 else ''}"
              for name, files in sorted(by_type.items(), key=lambda entry: (len(entry[1]), entry[0]))]
    return result[:most] + ([f"        and {len(result) - most} more types"] if len(result) > most else [])
