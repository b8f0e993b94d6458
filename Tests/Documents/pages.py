"""What the documents hold: their blocks, and the lines beside a block that say what must hold when it is run."""
import dataclasses
import pathlib
import re

DURATION = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Mistake(Exception):
    """Something in a page that cannot be understood; its text names the place."""


@dataclasses.dataclass
class Block:
    page: str
    line: int
    kind: str
    text: str
    #: What the comment after it says, without its first line: lines of claims, or why it is not run.
    holds: list = dataclasses.field(default_factory=list)
    #: The comment's first words: "holds", "shown", "not run", "file" or "".
    comment: str = ""
    title: str = ""

    @property
    def place(self):
        return f"{self.page}:{self.line}"


def blocks(path):
    """The fenced blocks of a page, each with the comment that follows it."""
    found, lines = [], pathlib.Path(path).read_text().split("\n")
    index = 0
    while index < len(lines):
        fence = re.match(r"^```(\w*)$", lines[index])
        if not fence:
            if re.match(r"^    (scripts/|cachefetch [^─]|swift |\$ )", lines[index]):
                raise Mistake(f"{path}:{index + 1}: commands stand in a block fenced as sh or console, so that they are run")
            index += 1
            continue
        end = lines.index("```", index + 1)
        block = Block(str(path), index + 1, fence[1], "\n".join(lines[index + 1:end]) + "\n")
        index = end + 1
        after = index
        while after < len(lines) and lines[after] == "":
            after += 1
        if after < len(lines) and lines[after].startswith("<!-- "):
            close = next(i for i in range(after, len(lines)) if lines[i].endswith("-->"))
            text = "\n".join(lines[after:close + 1])[5:-3].rstrip()
            head, _, rest = text.partition("\n")
            word = re.match(r"(holds|shown|not run|file)\b:? ?(.*)", head)
            if word:
                block.comment, block.title = word[1], word[2].strip()
                block.holds = rest.split("\n") if rest else []
                index = close + 1
        found.append(block)
    return found


@dataclasses.dataclass
class Step:
    """One line of claims: what is done to the world first, and what must hold then."""
    text: str
    world: list
    claims: list


def split(text, separator):
    """Splits outside of backticks."""
    return [part.strip() for part in re.findall(rf"(?:`[^`]*`|[^`{separator}])+", text)]


def step(line, place):
    world, colon, claims = line.strip().partition(":")
    if world.count("`") % 2:  # The colon stands within a command.
        found = re.match(r"((?:`[^`]*`|[^`:])*)(:)(.*)$", line.strip())
        world, colon, claims = found.groups() if found else ("", "", "")
    if not colon:
        raise Mistake(f"{place}: “{line.strip()}” has no colon between the situation and what holds in it")
    return Step(line.strip(), split(world, ","), split(claims, ";") if claims.strip() else [])


def groups(lines, place):
    """Lines of claims under their headings; where none is indented they are all of one piece, under None."""
    result, heading = {}, None
    lines = [line for line in lines if line.strip() and not line.startswith("#")]
    has_headings = any(line.startswith(" ") for line in lines)
    for line in lines:
        if line.startswith(" ") or not has_headings:
            result.setdefault(heading, []).append(step(line, place))
        else:
            heading = line.strip()
            if heading in result:
                raise Mistake(f"{place}: “{heading}” stands twice")
            result[heading] = []
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
