#!/usr/bin/env python3
r"""Runs every shell block of the documents, and every example of the help, and compares what happens with what is said.

usage: check.py SCRATCH PROGRAM PACKAGE BUILT [PAGE...]   inside namespaces of its own; scripts/check documentation starts it so

What is said of the blocks of a page stands beside this file: in recipes.claims for docs/recipes.md, in README.claims for
README.md.

    == cachefetch --print last https://api.example.com/news.json | jq .edition
    holds
    nothing stored: prints `1\n`
    changed: prints `2\n`
    changed, down: prints `2\n`; says `cachefetch: …refused the connection…\n`

A section begins with a line of its block: the first, or, of blocks that begin alike, one that the others do not have. The
sections have the order of the blocks, so that each belongs to the next block with that line. A block fenced as `sh`,
`console`, `tmux`, `cron` or `dockerfile` has a section; another may have one. The section's second line is one of these:
    holds                  the block is run; below stands what must hold in each situation that the page's words imply
    shown on a terminal    the block is fenced as `console` and shows its output; below stands, a line for each command,
                           what is done before it. Times and ages are not compared; an `exit status N` is
    shown in a pipe        the same
    not run: WHY           the block cannot run
    run by SCRIPT          a script of this repository runs the block; the script names the section's line
    file NAME              the block is put into the home of the blocks after it
Of a `tmux` block what stands in #(…) is run, of a `cron` block what stands behind the times, of a `dockerfile` block what
stands behind RUN and CMD.
A Swift block is compiled; it is run where its section says what holds. Lines of claims that begin with # are comments.

Before the colon stands what is done to the world, in order. `nothing stored` and `stored` begin with a new home (and what
the block asks for stored), every other line goes on where the one before ended:
    again                  nothing                   changed            the origin brings out its next edition
    2m later               the clock moves           down / up          nobody answers / as ever
    broken, missing        503, 404 to everything    cut off            half of each body
    portal, own portal     a sign-in page through a redirect, or in place of the answer
    slow 2s                no answer; the clock moves by that once the origin has been asked, and it answers when the block is over
    terminal               the block is run on a terminal of 100 columns
    after `COMMAND`        is run first
    meanwhile              (first) the block is still running since the line before; time passes until what is said holds
    interrupted            Ctrl-C ends the running block
After the colon, with semicolons between:
    prints X, says X       standard output and standard error, exactly: `old` and `new` (`of NAME`, where the block has
                           several URLs) are the bodies before and after the origin's last change, text in backticks is
                           itself and … in it anything; `nothing`
    FILE holds X, no FILE  a file in the home folder
    asks N                 how many requests the origin has seen, those of detached processes included
    status N
Unless it is said otherwise the status is 0 and nothing is said on standard error. `line N` above indented lines makes them
speak of that line of the block alone.
"""
import pathlib
import re
import signal
import subprocess
import sys
import threading

import machine as machines
import origin as origins
import pages

LIMIT_OF_NOT_RUN = 10
#: What stands for URL on the first screen of the help.
FIRST_URL = "https://example.com/news.json"
BLOCK_URL = re.compile(r"https?://[A-Za-z0-9.:-]+/[A-Za-z0-9/_.?=&~-]*")


class Tally:
    def __init__(self):
        self.blocks = self.runs = self.comparisons = self.not_run = 0
        self.failures = []

    def compare(self, place, what, holds, expected, got):
        self.comparisons += 1
        if not holds:
            self.failures.append(f"{place}\n    {what}\n    said: {expected}\n    seen: {got}")


def program_of(block):
    """The name that scripts/check documentation gives to the program of a Swift block."""
    return re.sub(r"[^A-Za-z0-9]", "_", pathlib.Path(block.page).stem) + f"_{block.line}"


class Checker:
    def __init__(self, machine, tally):
        self.machine, self.tally = machine, tally
        #: The block that goes on running from one line to the next, as watch does.
        self.run = None

    def abandon(self):
        """Ends a block that is still running after a mistake."""
        if self.run:
            self.run.interrupt()
            self.run = None

    # One block

    def check_block(self, block, files):
        """Does what the block's section says. files: those that earlier blocks of the page are, by their names."""
        section = block.section
        if section.word == "file":
            files[section.rest] = block.text
            return
        if section.word == "run by":
            if section.quoted not in pathlib.Path(section.rest).read_text():
                raise pages.Mistake(f"{section.place}: {section.rest} does not name this line")
            return
        if section.word == "not run":
            self.tally.not_run += 1
            return
        self.tally.blocks += 1
        if section.word != pages.SAID.get(block.kind):
            raise pages.Mistake(f"{section.place}: “{section.word}” is not said of a block fenced as “{block.kind}”")
        if section.word == "shown":
            return self.check_shown(block, files)
        for heading, steps in pages.groups(section.lines).items():
            script = block.text
            if block.kind == "tmux":  # It runs what stands in #(…).
                script = re.search(r"#\((.*)\)", block.text)[1] + "\n"
            elif block.kind == "cron":
                script = re.sub(r"^(\S+ ){5}", "", block.text, flags=re.M)
            elif block.kind == "dockerfile":
                script = re.sub(r"^(RUN|CMD) ", "", block.text, flags=re.M)
            elif block.kind == "swift":  # Compiled already, as a program named for its page and line.
                script = f"{program_of(block)}   # {' '.join(BLOCK_URL.findall(block.text))}\n"
            if block.page.endswith("recipes.md"):
                words = {word for step in steps for word in step.world}
                if len(steps) < 5 or "changed" not in words or not words & {"down", "broken", "own portal"}:
                    raise pages.Mistake(f"{section.place}: a recipe is tried over five rounds, with a change and an outage")
            if heading is not None:
                number = re.match(r"line (\d+)$", heading)
                if not number:
                    raise pages.Mistake(f"{section.place}: “{heading}” is not understood")
                script = block.text.split("\n")[int(number[1]) - 1] + "\n"
            self.check_steps(script, steps, files)

    def check_steps(self, script, steps, files):
        urls = list(dict.fromkeys(BLOCK_URL.findall(script)))
        for index, step in enumerate(steps):
            if index == 0 and step.world[0] not in ("nothing stored", "stored"):
                raise pages.Mistake(f"{step.place}: the first situation is “nothing stored” or “stored”")
            following = steps[index + 1] if index + 1 < len(steps) else None
            self.take_step(script, step, urls, files, following)
        if self.run:
            raise pages.Mistake(f"{steps[-1].place}: the block still runs at the end; say “interrupted”")
        if not any(re.match(r"prints |\S+ holds ", claim) for step in steps for claim in step.claims):
            raise pages.Mistake(f"{steps[-1].place}: nothing is said about what comes out")

    def take_step(self, script, step, urls, files, following=None):
        """Makes the world as a line says, runs the script in it, and judges what the line claims. Returns the run."""
        machine, origin = self.machine, self.machine.origin
        world, is_on_terminal, slowness = list(step.world), False, None
        asked = len(origin.requests)
        for word in world:
            later = re.match(r"(\d+)([smhd]) later$", word)
            slow = re.match(r"slow (\d+)([smhd])$", word)
            if word in ("nothing stored", "stored"):
                machine.new_home(files)
                if word == "stored":
                    self.store(step, urls)
                asked = len(origin.requests)
            elif word == "changed":
                origin.edition += 1
            elif word == "down":
                origin.stop()
            elif word == "up":
                origin.mode = "quick"
                origin.start()
            elif word in ("broken", "missing", "portal", "own portal", "cut off"):
                origin.mode = word
            elif later:
                machine.pass_time(int(later[1]) * pages.DURATION[later[2]])
            elif slow:
                origin.mode, slowness = "slow", int(slow[1]) * pages.DURATION[slow[2]]
                origin.gate = threading.Event()
            elif word == "terminal":
                is_on_terminal = True
            elif word.startswith("after "):
                self.prepare(step, word[6:].strip("`"))
                asked = len(origin.requests)
            elif word not in ("again", "meanwhile", "interrupted"):
                raise pages.Mistake(f"{step.place}: the situation “{word}” is not known")
        context = (urls, asked)
        self.tally.runs += 1
        if "interrupted" in world:
            run, self.run = self.run, None
            run.interrupt()
            machine.wait_for_orphans()
            self.judge(step, run, context, marks=run.marks)
            return run
        if "meanwhile" in world or following and "meanwhile" in following.world:
            return self.meanwhile(script, step, context)
        run = machine.start(script, is_on_terminal)
        if slowness is not None:
            def hurry():
                if origin.wait_for(asked + 1, 30):
                    machine.pass_time(slowness)
            threading.Thread(target=hurry, daemon=True).start()
        run.finish()
        if slowness is not None:
            origin.mode = "quick"
            origin.gate.set()
        machine.wait_for_orphans()
        self.judge(step, run, context)
        return run

    def store(self, step, urls):
        if not urls:
            return
        self.prepare(step, "cachefetch -q --print none " + " ".join(f"'{url}'" for url in urls))

    def prepare(self, step, script):
        run = self.machine.run(script)
        if run.status != 0:
            raise pages.Mistake(f"{step.place}: “{script}” ended with {run.status}: {run.errors.decode()}")

    def meanwhile(self, script, step, context):
        """A line about a block that goes on running: time passes until what it says holds."""
        if self.run is None:
            self.run = self.machine.start(script)
            self.run.marks = (0, 0)
        run, marks = self.run, self.run.marks
        if "meanwhile" in step.world:
            for _ in range(5):
                # Only once all that belongs to the last look is done, so that none of it runs into a limit in time.
                self.machine.wait_until_idle(run)
                # More than the pause of any watch in the documents. Where that begins only now, the next turn ends it.
                self.machine.pass_time(70)
                if self.machine.wait_until(lambda: self.all_hold(step, run, context, marks), 5):
                    break
        else:
            self.machine.wait_until(lambda: self.all_hold(step, run, context, marks), 20)
        self.machine.wait_until_idle(run)
        self.judge(step, run, context, marks, is_running=True)
        run.marks = (len(run.output), len(run.errors))
        return run

    def all_hold(self, step, run, context, marks):
        return all(holds for _, holds, _, _ in self.claims(step, run, context, marks, is_running=True))

    def judge(self, step, run, context, marks=(0, 0), is_running=False):
        for what, holds, expected, got in self.claims(step, run, context, marks, is_running):
            self.tally.compare(step.place, f"{step.text}   [{what}]", holds, expected, got)

    def claims(self, step, run, context, marks, is_running):
        """Each claim of a line: its name, whether it holds, what was said, what was seen."""
        urls, asked = context
        origin, home = self.machine.origin, self.machine.home

        def text(edition):
            def body(name):
                matching = [url for url in urls if name is None or re.split(r"[/]", url)[-1] == name]
                if len(matching) != 1:
                    raise pages.Mistake(f"{step.place}: which body? the block has {urls}")
                return origins.body("/" + matching[0].split("/", 3)[3], edition)
            return body

        old, new = text(max(1, origin.edition - 1)), text(origin.edition)
        results, spoken = [], set()
        streams = {"prints": run.output[marks[0]:], "says": run.errors[marks[1]:]}

        def add(what, claim, seen):
            holds = re.fullmatch(pages.expected_bytes(claim, old, new), seen, re.S) is not None
            results.append((what, holds, claim, seen.decode(errors="backslashreplace")))

        for claim in step.claims:
            word, _, rest = claim.partition(" ")
            if word in streams:
                spoken.add(word)
                add(word, rest, streams[word])
            elif word == "status":
                spoken.add(word)
                results.append(("status", run.status == int(rest), rest, run.status))
            elif word == "asks":
                count = len(origin.requests) - asked
                results.append(("asks", count == int(rest), rest, f"{count} {origin.requests[asked:]}"))
            elif word == "no":
                results.append((claim, not (home / rest).exists(), "no such file", "there is one"))
            elif rest.startswith("holds "):
                file = home / word
                add(claim, rest[6:], file.read_bytes() if file.exists() else b"(no such file)")
            else:
                raise pages.Mistake(f"{step.place}: “{claim}” is not understood")
        if "says" not in spoken and "terminal" not in step.world:
            results.append(("says", not streams["says"], "nothing", streams["says"].decode(errors="replace")))
        if "status" not in spoken and not is_running:
            results.append(("status", run.status == 0, 0, run.status))
        return results

    # A block that shows its output

    @staticmethod
    def plain(text):
        """Without what differs each time: how long it took, and how old something is."""
        text = re.sub(r"\bin \d+(\.\d+)? (µs|ms|s)\b", "in 1 ms", text)
        return re.sub(r"\b(just now|\d+ (milli)?seconds? ago)\b", "just now", text)

    def check_shown(self, block, files):
        section = block.section
        commands = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.M)
        if len(section.lines) != len(commands):
            raise pages.Mistake(
                f"{section.place}: {len(commands)} commands, and {len(section.lines)} lines about what is done before")
        urls = list(dict.fromkeys(BLOCK_URL.findall(block.text)))
        for (command, shown), (place, world) in zip(commands, section.lines):
            step = pages.step(place, world + ":")
            shown = shown.rstrip("\n")
            status = re.search(r"\n?exit status (\d+)$", shown)
            if status:
                shown = shown[: status.start()]
            if section.rest == "on a terminal":
                step.world.append("terminal")
            step.claims = [f"status {status[1] if status else 0}"]
            run = self.take_step(command, step, urls, files)
            seen = (run.output + run.errors).decode().rstrip("\n")
            self.tally.compare(
                place, f"$ {command}   [as shown]", self.plain(seen) == self.plain(shown), "\n" + shown, "\n" + seen)


def examples(text):
    """The examples that a page of help shows."""
    part = text.partition("\nexamples:\n")[2].partition("\n\n")[0]
    return [line.strip() for line in part.split("\n") if re.match(r"^  \S", line)]


def check_help(checker, machine):
    """Every example of the help and the manual, against the file of their claims."""
    place, files, lines = str(pages.EXAMPLES), {}, []
    for where, line in pages.claim_lines(place):
        given = re.match(r"given (\S+) holds `(.*)`$", line)
        if given:
            files[given[1]] = given[2].replace("\\n", "\n")
        else:
            lines.append((where, line))
    claims = pages.groups(lines)
    machine.new_home({})

    def help_of(*words):
        run = machine.run("cachefetch help " + " ".join(words))
        checker.tally.compare("cachefetch help " + " ".join(words), "status", run.status == 0, 0, run.status)
        return run.output.decode()

    overview = help_of()
    verbs = [
        verb for line in re.findall(r"^  ([a-z, -]+?)  +\S", overview.partition("\nverbs:\n")[2].partition("\n\n")[0], re.M)
        for verb in line.split(", ")]
    # The first screen has an example a line, with URL in it and what it does behind it.
    first = [re.split(r" {2,}", line)[0].replace("URL", FIRST_URL) for line in examples(overview)]
    shown = []
    options = {}
    for verb in verbs:
        page = help_of(verb)
        options[verb] = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9.-]*", page))
        shown += [line for line in examples(page) if line not in shown]
    if len(verbs) < 10 or len(shown) < len(verbs) or not first:
        raise pages.Mistake(
            f"the help shows {len(verbs)} verbs and {len(first)} and {len(shown)} examples; its form has changed")
    manual = machine.run("cachefetch help manual | mandoc -T utf8 -O width=500").output.decode()
    manual = re.sub(r"\s+", " ", re.sub(".\x08", "", manual))
    for line in shown:
        checker.tally.compare(
            "the manual", line, re.sub(r"\s+", " ", line) in manual, "the example stands in it", "it does not")
    for line in dict.fromkeys(first + shown):
        checker.tally.blocks += 1
        if line not in claims:
            checker.tally.compare(place, f"the help's example “{line}”", False, "nothing", "an example")
            continue
        bare = re.findall(r"\b[A-Z]{3,}\b", line)
        checker.tally.compare(place, f"the help's example “{line}”", not bare, "no placeholder", bare)
        checker.check_steps(line + "\n", claims.pop(line), files)
    for line in claims:
        checker.tally.compare(place, f"“{line}”", False, "an example of the help", "none")
    return options


def check_inline(tally, options, paths):
    """Command lines in the running text: their verb and every option are there."""
    known = set().union(*options.values())
    for path in paths:
        for number, line in enumerate(pathlib.Path(path).read_text().split("\n"), 1):
            for span in re.findall(r"`(cachefetch [^`]+)`", line):
                words = span.split()[1:]
                verb = words[0] if words[0] in options else "get"
                for option in re.findall(r"(?<![\w-])--[a-z][a-z0-9.-]*", span.partition("|")[0]):
                    there = option in options[verb] or option in ("--version", "--help")
                    tally.compare(f"{path}:{number}", f"`{span}`", there, f"{verb} takes {option}", "it does not")


def main(arguments):
    # A job in the background of a script has interrupts ignored, and so would what is run here: the command heeds that.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    scratch, program, package, built, *paths = arguments
    programs = {source.parent.name: pathlib.Path(built) / source.parent.name
                for source in pathlib.Path(package).glob("Sources/*/main.swift")}
    hosts = {"example.com", "portal.example.com"}
    for path in paths + [pages.EXAMPLES] + list(filter(pathlib.Path.exists, map(pages.claims_file, paths))):
        hosts |= set(re.findall(r"https?://([a-z.]*example\.com)", pathlib.Path(path).read_text()))
    machine = machines.Machine(scratch, {"cachefetch": program, **programs}, hosts)
    tally = Tally()
    checker = Checker(machine, tally)

    def attempt(work):
        try:
            return work()
        except pages.Mistake as mistake:
            tally.failures.append(str(mistake))
            checker.abandon()

    options = attempt(lambda: check_help(checker, machine))
    if options:
        check_inline(tally, options, paths)
    for path in paths:
        files, (blocks, mistakes) = {}, attempt(lambda: pages.page(path)) or ([], [])
        tally.failures += mistakes
        for block in blocks:
            if block.section:
                attempt(lambda: checker.check_block(block, files))
    tally.failures += pages.claims_without_page()
    if tally.not_run > LIMIT_OF_NOT_RUN:
        tally.failures.append(f"{tally.not_run} blocks are not run; at most {LIMIT_OF_NOT_RUN} may be")
    for failure in tally.failures:
        print(failure, file=sys.stderr)
    print(
        f"{tally.blocks} blocks and examples ran, {tally.runs} times in all; {tally.comparisons} comparisons, "
        f"{len(tally.failures)} failed; {tally.not_run} blocks say why they do not run", file=sys.stderr)
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
