"""Finds imports of what not every system has, outside the files that choose for each system; run by scripts/house --check."""
import pathlib
import re
import subprocess

# What one system has and another lacks, and the one file that imports it.
OF_ONE_SYSTEM = {
    **dict.fromkeys(("Bionic", "CoreFoundation", "Darwin", "Glibc", "Musl"), "Sources/PlatformC/System.swift"),
    **dict.fromkeys(("Network", "Security", "os"), "no file"),
    "CryptoKit": "Sources/CacheStore/Files/KeyedDigest+Apple.swift",
    "FoundationEssentials": "Sources/PlatformFoundation/Essentials.swift",
    "FoundationNetworking": "Sources/PlatformNetworking/Exports.swift",
}
# Programs of their own for Linux.
OF_LINUX = ("Benchmarks/", "Fuzz/", "Tests/Mutation/")
IMPORT = re.compile(r"^\s*(?:@\w+\s+)*(?:\w+\s+)?import\s+(?:\w+\s+)?(\w+)")


def unguarded(text, path):
    """`(line, module, what is wrong)` of each import that would not compile everywhere, or that is in another's place."""
    conditions = []
    for number, line in enumerate(text.split("\n"), 1):
        directive = re.match(r"\s*#(if|elseif|else|endif)\b(.*)", line)
        if directive:
            word, condition = directive.groups()
            if word == "endif":
                conditions.pop()
            elif word == "if":
                conditions.append([condition])
            else:
                conditions[-1].append(condition)
            continue
        found = IMPORT.match(line)
        if not found or found.group(1) not in OF_ONE_SYSTEM:
            continue
        module = found.group(1)
        home = OF_ONE_SYSTEM[module]
        # Examples and pages see the products alone.
        if path.startswith("Examples/") or path.endswith(".md"):
            if not any(re.search(r"canImport\(", condition) for chain in conditions for condition in chain):
                yield number, module, "imported without `#if canImport`"
        elif path != home and not path.startswith(OF_LINUX):
            yield number, module, f"imported outside {home}"


def blocks(text):
    """The Swift blocks of a page, with every other line empty."""
    inside = False
    for line in text.split("\n"):
        if line.startswith("```"):
            inside = line == "```swift"
            yield ""
        else:
            yield line if inside else ""


def check(root):
    """What is wrong, a line each."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.swift", "*.md"],
        cwd=root, capture_output=True, text=True, check=True).stdout.split("\0")
    problems = []
    for name in filter(None, names):
        path = pathlib.Path(root, name)
        if path.exists():
            text = path.read_text()
            code = "\n".join(blocks(text)) if name.endswith(".md") else text
            problems += [f"{name}:{line}: {module} is {wrong}" for line, module, wrong in unguarded(code, name)]
    return problems
