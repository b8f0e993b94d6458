"""Reads Swift as far as counting needs it: which types a file declares, and which it names.

Names are looked up as the compiler does, from the innermost type outwards: a `State` inside `Exchange` is that one. What only
type inference knows (`.failed`, a call on a value) names no type.
"""
import collections
import pathlib
import re

SKIPPED = re.compile(
    r'(?P<line>//[^\n]*)|(?P<block>/\*)|(?P<text>(?P<hashes>#*)(?P<quote>"""|"))', re.DOTALL)
TOKEN = re.compile(r"`?[A-Za-z_][A-Za-z0-9_]*`?|->|[^\sA-Za-z_0-9]|[0-9](?:[A-Za-z0-9_]|\.(?=[0-9]))*")
# What the folder of a target itself is called.
TOP = "(top)"
TYPE_WORDS = {"struct", "class", "enum", "actor", "protocol"}
MEMBERS = {"func", "var", "let", "init", "deinit", "subscript", "case"}
# After these, `class` is no declaration of one.
MEMBER_WORDS = {"func", "var", "let", "init", "subscript", "override", "final", "private", "static"}


def code(text, with_literals=False):
    """The text with comments and literals blanked, interpolations kept, and every line where it was."""
    result, place = [], 0

    def blank(piece):
        return re.sub(r"[^\n]", " ", piece)

    while True:
        found = SKIPPED.search(text, place)
        if not found:
            return "".join(result) + text[place:]
        result.append(text[place:found.start()])
        if found["line"]:
            end = found.end()
            result.append(blank(found[0]))
        elif found["block"]:
            end = end_of_block(text, found.end())
            result.append(blank(text[found.start():end]))
        else:
            end, kept = literal(text, found.end(), found["hashes"], found["quote"])
            result.append(text[found.start():end] if with_literals else blank(found[0]) + kept)
        place = end


def end_of_block(text, place):
    depth = 1
    while depth and place < len(text):
        if text.startswith("/*", place):
            depth, place = depth + 1, place + 2
        elif text.startswith("*/", place):
            depth, place = depth - 1, place + 2
        else:
            place += 1
    return place


def literal(text, place, hashes, quote):
    """Where a literal ends, and what is left of it: its interpolations."""
    kept, escape = [], "\\" + hashes
    while place < len(text):
        if text.startswith(quote + hashes, place):
            return place + len(quote + hashes), "".join(kept) + " " * len(quote + hashes)
        if text.startswith(escape + "(", place):
            end = end_of_interpolation(text, place + len(escape) + 1)
            kept.append(" " * len(escape) + code(text[place + len(escape):end]))
            place = end
        elif text.startswith(escape, place):
            # The escaped character, unless it ends the line.
            width = len(escape) + 1
            kept.append(re.sub(r"[^\n]", " ", text[place:place + width]))
            place += width
        else:
            kept.append("\n" if text[place] == "\n" else " ")
            place += 1
    return place, "".join(kept)


def end_of_interpolation(text, place):
    depth = 1
    while depth and place < len(text):
        found = SKIPPED.match(text, place)
        if found and found["text"]:
            place = literal(text, found.end(), found["hashes"], found["quote"])[0]
            continue
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        place += 1
    return place


class File:
    def __init__(self, path, target):
        self.path, self.target = path, target
        self.text = path.read_text()
        inner = path.parent.relative_to(target)
        self.folder = str(inner) if inner.parts else TOP
        self.name = str(path.relative_to(target))
        self.tokens, self.lines = [], []
        for number, line in enumerate(code(self.text).split("\n"), 1):
            for token in TOKEN.findall(line):
                self.tokens.append(token.strip("`"))
                self.lines.append(number)


class Target:
    """The files of a target, the types it declares, and which of them each file names."""

    def __init__(self, folder):
        self.name = folder.name
        self.files = [File(path, folder) for path in sorted(folder.rglob("*.swift"))]
        # By whole name, as a tuple: where it is declared. Private ones are seen in their own file only.
        self.types = collections.defaultdict(list)
        # Names that stand for no type of ours within a type: its generic parameters and associated types.
        self.parameters = collections.defaultdict(set)
        # Which type each line is in, innermost, by file.
        self.owners = {}
        for file in self.files:
            Walk(self, file, declares=True).run()
        # By file: the types it names, those it extends, and where they are declared, one pair each.
        self.named, self.extended = {}, {}
        for file in self.files:
            walk = Walk(self, file, declares=False)
            walk.run()
            self.named[file], self.extended[file] = walk.named, walk.extended
            self.owners[file] = walk.owners

    def declaration(self, name, file):
        """The file that declares the type which `name` is in `file`."""
        all_of_them = self.types.get(name, [])
        for where, is_private in all_of_them:
            if where is file:
                return where
        return next((where for where, is_private in all_of_them if not is_private), None)


class Scope:
    def __init__(self, owner, parameters):
        self.owner, self.parameters = owner, parameters


class Walk:
    """One way through a file's tokens, with the types they stand in."""

    def __init__(self, target, file, declares):
        self.target, self.file, self.declares = target, file, declares
        self.scopes, self.named, self.extended, self.owners = [], set(), set(), {}

    def run(self):
        tokens = self.file.tokens
        pending, place = None, 0
        while place < len(tokens):
            token = tokens[place]
            previous = tokens[place - 1] if place else ""
            following = tokens[place + 1] if place + 1 < len(tokens) else ""
            owner = self.owner()
            if owner:
                self.owners.setdefault(self.file.lines[place], owner)
            if token == "{":
                self.scopes.append(pending or Scope(None, set()))
                pending = None
            elif token == "}":
                if self.scopes:
                    self.scopes.pop()
                pending = None
            elif previous == "." and not token[0].isupper():
                pass
            elif token in TYPE_WORDS and following not in MEMBER_WORDS and following[:1].isupper():
                name = owner + (following,)
                if self.declares:
                    self.target.types[name].append((self.file, self.is_private(place)))
                parameters = self.generic_parameters(place + 2)
                self.target.parameters[name] |= parameters
                pending = Scope(name, parameters)
                place += 1
            elif token == "extension":
                names, end = self.path(place + 1)
                whole = self.resolve(names)
                pending = Scope(whole[-1] if whole and len(whole) == len(names) else tuple(names), set())
                # One that holds types only, and promises nothing, just says what they are called.
                if not self.is_only_a_name(end):
                    self.note(whole, extended=True)
                place = end - 1
            elif token == "import":
                place += 1  # A module, not the type of its name.
            elif token == "typealias" or token == "associatedtype":
                if token == "typealias" and self.declares:
                    self.target.types[owner + (following,)].append((self.file, self.is_private(place)))
                elif token == "associatedtype":
                    self.target.parameters[owner].add(following)
                place += 1
            elif token in ("func", "init", "subscript"):
                after = place + 2 if token == "func" else place + 1
                pending = Scope(None, self.generic_parameters(after))
            elif token[0].isupper() and self.file.tokens[place + 1:place + 3] == [":", ":"]:
                place += 2  # A module.
            elif token[0].isupper() and previous != ".":
                names, end = self.path(place)
                self.note(self.resolve(names, pending))
                place = end - 1
            place += 1

    def owner(self):
        for scope in reversed(self.scopes):
            if scope.owner:
                return scope.owner
        return ()

    def is_private(self, place):
        for word in reversed(self.file.tokens[max(0, place - 4):place]):
            if word in ("private", "fileprivate"):
                return True
            if word in ("}", "{", ")", ";", "="):
                break
        return False

    def is_only_a_name(self, place):
        """Whether the extension whose `{` is at `place` has nothing but types in it."""
        tokens, depth = self.file.tokens, 0
        if tokens[place] != "{":
            return False
        for token in tokens[place:]:
            depth += {"{": 1, "}": -1}.get(token, 0)
            if depth == 0:
                return True
            if depth == 1 and token in MEMBERS:
                return False
        return False

    def path(self, place):
        """The names in `A.B.C` from there on, and what comes after them."""
        tokens, names = self.file.tokens, []
        while place < len(tokens) and tokens[place][0].isupper():
            names.append(tokens[place])
            place += 1
            if place + 1 < len(tokens) and tokens[place] == "." and tokens[place + 1][0].isupper():
                place += 1
            else:
                break
        return names, place

    def generic_parameters(self, place):
        tokens, result = self.file.tokens, set()
        if place >= len(tokens) or tokens[place] != "<":
            return result
        depth = 0
        while place < len(tokens):
            depth += {"<": 1, ">": -1}.get(tokens[place], 0)
            if depth == 0:
                break
            if depth == 1 and tokens[place] in ("<", ",") and tokens[place + 1][0].isupper():
                result.add(tokens[place + 1])
            place += 1
        return result

    def first(self, name, pending):
        """The whole name of the type that `name` is here."""
        if pending and name in pending.parameters:
            return None
        for scope in ([pending] if pending and pending.owner else []) + list(reversed(self.scopes)):
            if name in scope.parameters:
                return None
            owner = scope.owner
            while owner:
                if name in self.target.parameters.get(owner, ()):
                    return None
                if self.target.declaration(owner + (name,), self.file):
                    return owner + (name,)
                owner = owner[:-1]
        return (name,) if self.target.declaration((name,), self.file) else None

    def resolve(self, names, pending=None):
        """The types along `A.B.C`, as far as they are the target's own."""
        if self.declares or not names:
            return []
        if names[0] == "Self":
            whole = self.owner()
        elif names[0] == self.target.name and len(names) > 1 and self.target.declaration((names[1],), self.file) and not (
                self.target.declaration((names[0], names[1]), self.file)):
            # The module's name before a type of it.
            return self.resolve(names[1:], pending)
        else:
            whole = self.first(names[0], pending)
        result = [whole] if whole else []
        for name in names[1:]:
            if not whole or not self.target.declaration(whole + (name,), self.file):
                break
            whole += (name,)
            result.append(whole)
        return result

    def note(self, types, extended=False):
        """The type that a path ends in is the one that is named; what comes before it only says where it stands."""
        if types:
            where = self.target.declaration(types[-1], self.file)
            if where and where is not self.file:
                (self.extended if extended else self.named).add((".".join(types[-1]), where))
