"""Which functions and files one request enters: the command runs under callgrind, and its origin has news for it.

Callgrind cannot read the compiler's line tables, so it is given a copy with symbols alone. The toolchain's symboliser then says
where each is declared, and the line there says what it is.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

# Timing decides about some thirty functions: whether somebody had to wait, and for whom.
RUNS = 5
# What the compiler makes of a function: it is resumed after each `await`.
RESUMED = re.compile(r"^\(\d+\) (?:await|suspend) resume partial function for ")
CLOSURE = re.compile(r"^(?:partial apply forwarder for )?(?:implicit )?closure #\d+ ")
# What it makes beside them: thunks and the like, and what a declaration without a body of code comes to.
MADE = re.compile(
    r"^(?:partial apply|reabstraction thunk|protocol witness|dispatch thunk|lazy protocol|merged|outlined|"
    r"default argument|variable initialization|one-time initialization|\$defer #)|\.unsafeMutableAddressor ")
ACCESSOR = re.compile(r"\.(?:getter|setter|modify|read)2? : ")


def tools():
    return pathlib.Path(shutil.which("swiftc")).resolve().parent


def run(*command, text=None, environment=None):
    done = subprocess.run(
        [str(word) for word in command], input=text, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{done.stderr}error: {command[0]} ended with {done.returncode}")
    return done.stdout


def symbols(command, origin):
    """The command's own symbols that each of some runs entered: a stored response, then a 200 with another body."""
    with tempfile.TemporaryDirectory() as folder:
        bare, counts = f"{folder}/cachefetch", f"{folder}/counts"
        run(tools() / "llvm-objcopy", "--strip-debug", command, bare)
        environment = {name: value for name, value in os.environ.items() if name in ("PATH", "LD_LIBRARY_PATH")}
        environment["HOME"] = folder
        server = subprocess.Popen([origin], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            request = ["--store", f"{folder}/store.sqlite", server.stdout.readline().strip()]
            stored, found = run(command, *request, environment=environment), []
            for _ in range(RUNS):
                server.stdin.write("news\n")
                server.stdin.flush()
                server.stdout.readline()
                shown = run("valgrind", "--tool=callgrind", f"--callgrind-out-file={counts}", bare, *request,
                            environment=environment)
                if not stored or not shown.startswith(stored) or len(shown) == len(stored):
                    raise SystemExit("error: the traced request was not answered from the store, then with what is new")
                stored = shown[len(stored):]
                found.append(entered(counts, bare))
        finally:
            server.stdin.close()
            server.wait(10)
        return set.intersection(*found)


def entered(counts, program):
    objects, names, result = {}, {}, set()
    own = False
    with open(counts) as lines:
        for line in lines:
            found = re.match(r"(c?ob|c?fn)=\((\d+)\)(?: (.*))?$", line)
            if not found:
                continue
            kind, number, name = found.groups()
            table = objects if kind.endswith("ob") else names
            if name:
                # A recursive call has a mark after its name.
                table[number] = re.sub(r"'\d+$", "", name)
            if kind == "ob":
                own = table[number] == program
            elif kind == "fn" and own:
                result.add(table[number])
    return result


def places(program, wanted):
    """Of each symbol: its name as people write it, and where it is declared."""
    addresses = {}
    for line in run(tools() / "llvm-nm", "--defined-only", program).splitlines():
        address, _, name = line.split(" ", 2)
        if name in wanted:
            addresses.setdefault(name, address)
    names = sorted(addresses)
    found = run(tools() / "llvm-symbolizer", f"--obj={program}", "--no-inlines", "--output-style=JSON",
                text="".join(f"0x{addresses[name]}\n" for name in names)).splitlines()
    shown = run(tools() / "swift-demangle", "--compact", text="".join(f"{name}\n" for name in names)).splitlines()
    for name, place in zip(shown, found, strict=True):
        symbol = json.loads(place)["Symbol"][0]
        if symbol.get("StartFileName") and symbol["StartLine"]:
            yield name, pathlib.Path(symbol["StartFileName"]), symbol["StartLine"]


def is_function(name, declaration):
    if CLOSURE.search(name) or MADE.search(name):
        return False
    if re.search(r"\bfunc\b", declaration):
        return True
    if re.search(r"\b(?:__allocating_)?init[(<]", name):
        return bool(re.search(r"\binit\b", declaration))
    if name.endswith("deinit"):
        return bool(re.search(r"\bdeinit\b", declaration))
    return bool(ACCESSOR.search(name) and re.search(r"\b(?:var|subscript|get|set|_?modify|_?read)\b", declaration))


def functions_and_files(command, origin, sources):
    """The functions, as file and line, and the files; of Swift and of C."""
    functions, files, texts = set(), set(), {}
    for name, path, line in places(command, symbols(command, origin)):
        if not path.is_relative_to(sources):
            continue
        if path not in texts:
            texts[path] = path.read_text().split("\n")
        name = RESUMED.sub("", name)
        is_own = path.suffix != ".swift" or is_function(name, texts[path][line - 1])
        if is_own:
            functions.add((path, line))
        if is_own or CLOSURE.search(name):
            files.add(path)
    return functions, files
