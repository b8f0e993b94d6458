"""Finds members that are internal only because a type's own extensions stand in other files; run by scripts/house.

An extension in another file sees what is internal and nothing that is private. A member that only the files of its type need
(`X.swift` and each `X+*.swift`) is therefore open to the whole module for them alone. It can be private where the member and what
needs it share a file, or where they are a type of their own.

Names are compared, not declarations, so a common name hides a member: outside of the type's files `value.name` is a use, of
whatever type the value is; and where a file has a local of the same name, a bare name is that local. Members without a name
(`init`, `subscript`, operators), the cases of an enum and what a nested type declares are not looked at.
"""
import collections
import re

import swift_source

# A member at the first level of a type or an extension, after its attributes and modifiers.
DECLARED = re.compile(
    r"^  ((?:@?\w+(?:\([^)\n]*\))? +)*?)(func|var|let|typealias|struct|enum|class|actor) +`?(\w+)", re.MULTILINE)
# A member with one of these is private, is for other modules, or has the access of what it overrides.
NOT_INTERNAL = re.compile(r"\b(?:(?:private|fileprivate)\b(?!\(set\))|package|public|open|override)\b")
NESTED_TYPES = {"typealias", "struct", "enum", "class", "actor"}
DECLARING = {"func", "var", "let", "for", "case", "associatedtype", "protocol"} | NESTED_TYPES
# Where one of these stands before a name, the name begins an expression.
LEADING = {"return", "try", "await", "in", "case", "else", "if", "guard", "while", "switch", "where", "is", "as", "throw"}
# The locals of `{ one, other in` and of `let (one, other)`.
LOCALS = (
    re.compile(r"\{ *(?:\[[^\]]*\] *)?\(?([\w, ]+)\)?(?: (?:async|throws\([^)]*\)|throws|-> [^{\n]+))* +in\b"),
    re.compile(r"\b(?:let|var|for) +\(([^()]*)\)"))
WORD = re.compile(r"[A-Za-z_]\w*$")
# What a value or a type ends in: a word, the 0 of `$0`, or a bracket; and the beginning of a key path.
VALUE = re.compile(r"\w|[)\]}>\\]")


class Names:
    """The names that a file uses and declares."""

    def __init__(self, file):
        # What stands before the dot of `value.name`, by name: a word or bracket, or nothing in `.name`.
        self.receivers = collections.defaultdict(set)
        self.bare, self.locals = set(), set()
        tokens = ["", "", *file.tokens, ""]
        for place in range(2, len(tokens) - 1):
            token, before, after = tokens[place], tokens[place - 1], tokens[place + 1]
            if not WORD.match(token):
                continue
            if before == "." and tokens[place - 2] != ".":  # Two or more are a range.
                self.receivers[token].add(self.receiver(tokens, place - 2))
            elif before in DECLARING:
                self.locals.add(token)
            elif after == ":" and (before in ("(", ",") or WORD.match(before) and before not in LEADING):
                self.locals.add(token)  # A parameter, or the label of an argument.
            else:
                self.bare.add(token)
        code = swift_source.code(file.text)
        for pattern in LOCALS:
            for found in pattern.finditer(code):
                self.locals.update(name.strip() for name in found[1].split(","))
        # The members that the file declares at the first level, of whatever type.
        self.members = {found[3] for found in DECLARED.finditer(code)}
        # The types in whose scope the file has code: bare names there may be their members.
        self.inside = {tokens[place + 1] for place in range(len(tokens) - 1) if tokens[place] == "extension"} | {
            tokens[place + 3] for place in range(len(tokens) - 3) if tokens[place] == "class" and tokens[place + 2] == ":"}

    @staticmethod
    def receiver(tokens, place):
        while tokens[place] in ("?", "!"):
            place -= 1
        word = tokens[place]
        return word if VALUE.match(word) and word not in LEADING else ""


class Member:
    def __init__(self, name, owner, is_static):
        self.name, self.owner, self.is_static = name, owner, is_static

    def is_used_outside(self, names):
        """Whether a file that is none of the type's own names it."""
        receivers = names.receivers.get(self.name, set())
        own = {"self", "Self"} & receivers
        if any(receiver or self.is_static for receiver in receivers - own):
            return True
        return self.owner in names.inside and (self.name in names.bare or bool(own))

    def is_used_within(self, names, is_anothers):
        """Whether another of the type's files names it; `is_anothers` where other types have a member of that name too."""
        receivers = names.receivers.get(self.name, set())
        if receivers & {"self", "Self", self.owner} or self.is_static and "" in receivers:
            return True
        if any(receivers) and not is_anothers:
            return True
        return self.name in names.bare and self.name not in names.locals


def families(target):
    """The files of each type that has several, by its name."""
    found = collections.defaultdict(list)
    for file in target.files:
        found[file.path.stem.split("+")[0]].append(file)
    return {name: files for name, files in found.items() if len(files) > 1}


def declared(target, file, owners):
    """The internal members that a file declares of those types."""
    code = swift_source.code(file.text)
    for found in DECLARED.finditer(code):
        line = code.count("\n", 0, found.start(2)) + 1
        owner = target.owners[file].get(line, ())
        if len(owner) == 1 and owner[0] in owners and not NOT_INTERNAL.search(found[1]):
            yield Member(found[3], owner[0], "static" in found[1] or found[2] in NESTED_TYPES)


def requirements(target):
    """What the target's protocols require: a type that has it for one of them cannot make it private."""
    for file in target.files:
        protocols = {name for word, name in zip(file.tokens, file.tokens[1:]) if word == "protocol"}
        yield from (member.name for member in declared(target, file, protocols))


def found(targets, root):
    """`Type.member` of each, with its file."""
    tests = [Names(swift_source.File(path, root / "Tests")) for path in sorted((root / "Tests").rglob("*.swift"))]
    for target in targets:
        names = {file: Names(file) for file in target.files}
        required = set(requirements(target))
        for owner, files in sorted(families(target).items()):
            others = [names[file] for file in target.files if file not in files]
            for file in files:
                for member in declared(target, file, {owner}):
                    if member.name in required or any(map(member.is_used_outside, [*others, *tests])):
                        continue
                    is_anothers = any(member.name in other.members for other in others)
                    if any(member.is_used_within(names[other], is_anothers) for other in files if other is not file):
                        yield f"{owner}.{member.name}", f"{target.name}/{file.name}"


def check(targets, root):
    """What is wrong, in lines for people."""
    return [f"{place}: {member} is internal for the files of its type alone"
            for member, place in found(targets, root)]
