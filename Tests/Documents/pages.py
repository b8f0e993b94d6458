"""The blocks of the documents, and what is said of them beside this file: what must hold when they are run."""
import dataclasses
import pathlib
import re

FOLDER = pathlib.Path("Tests/Documents")
EXAMPLES = FOLDER / "examples.claims"
#: What is said of a block that is run, by the word behind its fence.
SAID = {"sh": "holds", "tmux": "holds", "cron": "holds", "dockerfile": "holds", "swift": "holds", "console": "shown"}
DURATION = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Mistake(Exception):
    """Something in a page or in its claims that cannot be understood."""


@dataclasses.dataclass
class Section:
    """What is said of one block."""
    place: str
    #: A line of the block.
    quoted: str
    #: "holds", "shown", "not run", "run by" or "file", and what stands behind that.
    word: str = ""
    rest: str = ""
    #: The lines of claims, each as its place and its text.
    lines: list = dataclasses.field(default_factory=list)

    def is_of(self, block):
        return self.quoted in (line.strip() for line in block.text.split("\n"))

    def beside(self, block):
        """The same, where every place names that of the block too."""
        lines = [(f"{block.place}, {place}", line) for place, line in self.lines]
        return dataclasses.replace(self, place=f"{block.place}, {self.place}", lines=lines)


@dataclasses.dataclass
class Block:
    page: str
    line: int
    kind: str
    text: str
    section: Section | None = None

    @property
    def place(self):
        return f"{self.page}:{self.line}"


def blocks(path):
    """The fenced blocks of a page."""
    found, lines = [], pathlib.Path(path).read_text().split("\n")
    index = 0
    while index < len(lines):
        fence = re.match(r"^```(\w*)$", lines[index])
        if fence:
            end = lines.index("```", index + 1)
            found.append(Block(str(path), index + 1, fence[1], "\n".join(lines[index + 1:end]) + "\n"))
            index = end
        elif re.match(r"^    (scripts/|cachefetch [^─]|swift |\$ )", lines[index]):
            raise Mistake(f"{path}:{index + 1}: commands stand in a block fenced as sh or console, so that they are run")
        index += 1
    return found


def claims_file(page):
    """Where the claims of a page stand: README.claims, recipes.claims for docs/recipes.md."""
    return FOLDER / pathlib.Path(str(page).removeprefix("docs/")).with_suffix(".claims")


def claims_without_page():
    """Mistakes: files of claims that no page of the repository has."""
    expected = {claims_file(page) for page in [*pathlib.Path().glob("*.md"), *pathlib.Path("docs").rglob("*.md")]}
    return [f"{file}: there is no such page" for file in FOLDER.rglob("*.claims") if file not in expected | {EXAMPLES}]


def claim_lines(path):
    """The lines of a file of claims, each as its place and its text, without comments."""
    lines = enumerate(pathlib.Path(path).read_text().split("\n"), 1) if pathlib.Path(path).exists() else []
    return [(f"{path}:{number}", line) for number, line in lines if line.strip() and not line.startswith("#")]


def sections(path):
    """The sections of a file of claims."""
    found = []
    for place, line in claim_lines(path):
        if line.startswith("== "):
            found.append(Section(place, line[3:].strip()))
        elif not found:
            raise Mistake(f"{place}: a section begins with “== ” and a line of its block")
        elif found[-1].word:
            found[-1].lines.append((place, line))
        else:
            head = re.fullmatch(r"(holds)|(shown) (on a terminal|in a pipe)|(not run): (.{10,})|(run by|file) (\S+)", line)
            if not head:
                raise Mistake(f"{place}: below a section’s “== ” stands “holds”, “shown on a terminal”, “shown in a pipe”, "
                              "“not run: ” and why, “run by ” and a script, or “file ” and a name")
            found[-1].word, found[-1].rest = ([part for part in head.groups() if part] + [""])[:2]
    for section in found:
        if not section.word or section.word in ("holds", "shown") and not section.lines:
            raise Mistake(f"{section.place}: the section says nothing of its block")
    return found


def page(path):
    """The blocks of a page with what is said of them, and the mistakes in what belongs to what."""
    found, claims, mistakes = blocks(path), claims_file(path), []
    rest = sections(claims)

    def drop_lost(later):
        """One that no later block has would keep those behind it from theirs."""
        while rest and not any(rest[0].is_of(block) for block in later):
            lost = rest.pop(0)
            mistakes.append(f"{lost.place}: no block that is left of {path} has the line "
                            f"“{lost.quoted}”: quote one, in the page’s order, or remove the section")

    for index, block in enumerate(found):
        drop_lost(found[index:])
        if rest and rest[0].is_of(block):
            block.section = rest.pop(0).beside(block)
        elif block.kind in SAID and block.kind != "swift":
            first, where = block.text.split("\n")[0], f"before {rest[0].place}" if rest else f"at the end of {claims}"
            mistakes.append(f"{block.place}: nothing is said of this block: begin a section with “== {first}” {where}")
    drop_lost([])
    return found, mistakes


@dataclasses.dataclass
class Step:
    """One line of claims: what is done to the world first, and what must hold then."""
    place: str
    text: str
    world: list
    claims: list


def split(text, separator):
    """Splits outside of backticks."""
    return [part.strip() for part in re.findall(rf"(?:`[^`]*`|[^`{separator}])+", text)]


def step(place, line):
    world, colon, claims = line.strip().partition(":")
    if world.count("`") % 2:  # The colon stands within a command.
        found = re.match(r"((?:`[^`]*`|[^`:])*)(:)(.*)$", line.strip())
        world, colon, claims = found.groups() if found else ("", "", "")
    if not colon:
        raise Mistake(f"{place}: “{line.strip()}” has no colon between the situation and what holds in it")
    return Step(place, line.strip(), split(world, ","), split(claims, ";") if claims.strip() else [])


def groups(lines):
    """Lines of claims under their headings; where none is indented they are all of one piece, under None."""
    result, heading = {}, None
    has_headings = any(line.startswith(" ") for _, line in lines)
    for place, line in lines:
        if line.startswith(" ") or not has_headings:
            result.setdefault(heading, []).append(step(place, line))
        else:
            heading = line.strip()
            if heading in result:
                raise Mistake(f"{place}: “{heading}” stands twice")
            result[heading] = []
    for heading, steps in result.items():
        if not steps:
            raise Mistake(f"{lines[0][0]}: nothing stands below “{heading}”")
    return result


def expected_bytes(claim, old, new):
    """The pattern of the bytes that a claim about an output names. old, new: functions from a name, or None, to that body."""
    def literal(found):
        pieces = found[1].replace("\\n", "\n").split("…")
        return b".*?".join(re.escape(piece.encode()) for piece in pieces)

    words = (
        (r"nothing\b", lambda found: b""),
        (r"anything\b", lambda found: b".+"),
        (r"`([^`]*)`", literal),
        (r"old(?: of ([^\s`;]+))?", lambda found: re.escape(old(found[1]))),
        (r"new(?: of ([^\s`;]+))?", lambda found: re.escape(new(found[1]))),
    )
    rest, pattern = claim.strip(), b""
    while rest:
        for expression, make in words:
            found = re.match(expression, rest)
            if found:
                pattern += make(found)
                rest = rest[found.end():].lstrip()
                break
        else:
            raise Mistake(f"“{claim}” is not understood at “{rest}”")
    return pattern
