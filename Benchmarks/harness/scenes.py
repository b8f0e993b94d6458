"""The scenes. Each function measures its contenders in alternation and adds a table to the report."""

import filecmp
import os
import pathlib
import shutil
import socket
import socketserver
import subprocess
import threading
import time

from fleet import Fleet
from report import duration
from https import TrustedPlace
from tools import Sample, Servers, alternate, build, contenders, instructions, output, root, say, scratch, spawn_alternate

row_wal = "row, WAL, synchronous=NORMAL"


class Bench:
    def __init__(self, quick, cachefetch, python, report, size=None):
        self.size = size or 100 << 20
        self.quick, self.cachefetch, self.python, self.report = quick, cachefetch, python, report
        self.bench = root / ".build/ship/release/bench"
        self.raw_sqlite, self.raw_curl = contenders / "raw_sqlite", contenders / "raw_curl"
        self.peer = build / "peer/release/urlsession-peer"
        self.folder = pathlib.Path(scratch())
        self.servers = Servers(self.folder, small=1_000 if quick else 10_000)

    def rounds(self, quick, full):
        return quick if self.quick else full

    def close(self):
        self.servers.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def store(self, name):
        return self.folder / f"{name}.sqlite"

    # Whole processes.

    def start(self):
        """Process start to the first stored byte."""
        raw = self.store("start-raw")
        for size in ["10k"] if self.quick else ["1k", "10k", "100k", "10m"]:
            url, store = f"{self.servers.url}/{size}", self.store("start")
            environment = {"CACHEFETCH_STORE": str(store)}
            subprocess.run([self.cachefetch, "-q", url], check=True, stdout=subprocess.DEVNULL, env={**os.environ, **environment})
            raw.unlink(missing_ok=True)
            subprocess.run([self.raw_sqlite, raw, "fill", "1", str(self.servers.sizes[size])], check=True)
            files = self.folder / f"files-{size}"
            files.mkdir()
            etag = files / "etag"
            runs = [
                (Sample("nothing (/bin/true)"), ["/bin/true"]),
                (Sample("sqlite3 shell", row_wal), ["sqlite3", "-readonly", raw, "SELECT body FROM r WHERE url='http://127.0.0.1/item/0'"]),
                (Sample("cachefetch --offline", row_wal), [self.cachefetch, "--offline", url]),
                (Sample("cachefetch, then fresh", row_wal), [self.cachefetch, url]),
                (Sample("curl", "nothing"), ["curl", "-s", url]),
                (Sample("curl --etag-compare", "file"), ["curl", "-s", "--etag-save", etag, "--etag-compare", etag, "-o", files / "curl", url]),
                (Sample("wget -N", "file"), ["wget", "-q", "-N", "-P", files, url]),
                (Sample("curl from nginx proxy_cache", "file"), ["curl", "-s", f"http://127.0.0.1:{self.servers.proxy_port}/{size}"]),
            ]
            if self.servers.has_varnish:
                runs.append((Sample("curl from Varnish", "memory"), ["curl", "-s", f"http://127.0.0.1:{self.servers.varnish_port}/{size}"]))
            slow = [(Sample("URLSession, URLCache", "none seen"), [self.peer, self.folder / "urlcache", url])]
            if self.python:
                for name in ("requests_cache", "hishel"):
                    slow.append((Sample(name.replace("_", "-"), "row, SQLite"),
                                 [self.python, root / f"Benchmarks/peers/{name}_peer.py", self.folder / f"{name}-{size}.sqlite", url]))
            spawn_alternate(2, runs + slow, environment)  # caches filled, pages read
            for sample, _ in runs + slow:
                sample.values = []
            samples = spawn_alternate(self.rounds(40, 200), runs, environment)
            samples += spawn_alternate(self.rounds(3, 20), slow, environment)
            found = self.report.scene(
                f"Process start to first stored byte, {size}", samples, "sqlite3 shell", processes=True,
                note="A contender that writes nothing to standard output counts to its end.")
            if size == "10k":
                own = found["cachefetch --offline"].p50
                self.report.budget("start to first stored byte, 10 kB, against the sqlite3 shell", own / found["sqlite3 shell"].p50, 1.2)
                self.report.budget("the same, the default policy", found["cachefetch, then fresh"].p50 / found["sqlite3 shell"].p50, None)
                self.report.budget("the same against curl from nginx", own / found["curl"].p50, 0.35)

    # In one process.

    def stored(self):
        """The stored delivery, by each of the forms."""
        rows, count = 100, self.rounds(2_000, 10_000)
        store, raw = self.store("stored"), self.store("stored-raw")
        output(self.bench, "fill", store, str(rows), "10000")
        output(self.raw_sqlite, raw, "fill", str(rows), "10000")
        runs = [(Sample("C, prepared select, one copy", row_wal), [self.raw_sqlite, raw, "select", str(count), str(rows)])]
        runs += [
            (Sample(name, row_wal), [self.bench, form, store, str(count), str(rows)])
            for form, name in (("look", "synchronous look"), ("sequence", "sequence"), ("callback", "callback on a queue"), ("oneshot", "one value"))]
        runs.append((Sample("of a callback, on the queue", row_wal), [self.bench, "block", store, str(count), str(rows)]))
        runs.append((Sample("Dispatch alone, a call on a queue"), [self.bench, "hop", store, str(count)]))
        slow = []
        url = f"{self.servers.url}/10k"
        if self.python:
            slow = [
                (Sample(name.replace("_", "-"), "row, SQLite"),
                 [self.python, root / f"Benchmarks/peers/{name}_peer.py", self.folder / f"{name}-many.sqlite", url, "300"])
                for name in ("requests_cache", "hishel")]
        slow.append((Sample("URLSession, URLCache", "none seen"), [self.peer, self.folder / "urlcache-many", url, "300"]))
        samples = alternate(self.rounds(3, 9), runs) + alternate(self.rounds(1, 3), slow)
        found = self.report.scene("Stored delivery in process, 10 kB", samples)
        base = samples[0].p50
        for name, limit in (("synchronous look", 2.2), ("sequence", 3.0)):
            self.report.budget(f"stored delivery in process, {name}, against C", found[name].p50 / base, limit)
        # The lookup is counted above, and what a hop to a queue costs by itself is not ours to spare.
        alone = found["Dispatch alone, a call on a queue"].p50
        self.report.budget(
            "a call on a queue and what a load does there before its callback, against Dispatch alone",
            (alone + found["of a callback, on the queue"].p50) / alone, 1.3)

    def refresh(self):
        """A refresh on a warm connection, with what it stores."""
        count = self.rounds(1_000, 4_000)
        for title, path, etag in (("200", "changed/10k", None), ("304", "10k", "*")):
            url = f"{self.servers.url}/{path}"
            tag = [] if etag is None else [output("curl", "-sI", url).split("ETag: ")[1].split("\r")[0]]
            runs = [
                (Sample("C, libcurl and one upsert", row_wal), [self.raw_curl, url, str(count), self.store("refresh-raw"), *tag]),
                (Sample("C, libcurl alone", "nothing"), [self.raw_curl, url, str(count), "-", *tag]),
                (Sample("one value", row_wal), [self.bench, "refresh", self.store("refresh"), str(count), url]),
                (Sample("callback on a queue", row_wal), [self.bench, "refresh-callback", self.store("refresh"), str(count), url]),
            ]
            samples = alternate(self.rounds(3, 9), runs)
            found = self.report.scene(f"Refresh on a warm connection, {title}, 10 kB", samples)
            if title == "200":
                self.report.budget("refresh on a warm connection, more than C", (found["one value"].p50 - samples[0].p50) / 1e3, 150, "µs")

    def cold(self):
        """A refresh by a process that has just been started, with what it stores."""
        for title, path in (("200", "changed/10k"), ("304", "10k")):
            url = f"{self.servers.url}/{path}"
            store = self.store(f"cold-{title}")
            files = self.folder / f"cold-files-{title}"
            files.mkdir()
            etag = files / "etag"
            tag = [output("curl", "-sI", url).split("ETag: ")[1].split("\r")[0]] if title == "304" else []
            runs = [
                (Sample("curl", "nothing"), ["curl", "-s", url]),
                (Sample("curl -o", "file"), ["curl", "-s", "-o", files / "curl", url]),
                (Sample("curl --etag-compare", "file"), ["curl", "-s", "--etag-save", etag, "--etag-compare", etag, "-o", files / "etag-curl", url]),
                (Sample("wget -N", "file"), ["wget", "-q", "-N", "-P", files, url]),
                (Sample("C, libcurl and one upsert", row_wal), [self.raw_curl, url, "1", self.store("cold-raw"), *tag]),
                (Sample("cachefetch --policy fresh-only", row_wal), [self.cachefetch, "-q", "--policy", "fresh-only", "--store", store, url]),
            ]
            if title == "200":
                runs.append((Sample("cachefetch --print fresh", row_wal), [self.cachefetch, "-q", "--print", "fresh", "--store", store, url]))
                runs.append((Sample("cachefetch --background", row_wal), [self.cachefetch, "-q", "--background", "--store", store, url]))
            spawn_alternate(2, runs)  # what can be validated is there
            for sample, _ in runs:
                sample.values = []
            samples = spawn_alternate(self.rounds(20, 200), runs)
            found = self.report.scene(
                f"Refresh by a process of its own, {title}, 10 kB", samples, processes=True,
                note="To the first byte of the answer; a contender that writes nothing to standard output counts to its end. "
                     "What `--background` writes is the stored answer; its end is that of the process that refreshes.")
            if title == "200":
                own, curl = found["cachefetch --policy fresh-only"], found["curl"]
                self.report.budget("refresh by a process of its own, to the first fresh byte, against curl", own.p50 / curl.p50, 1.5)
                self.report.budget("the same, to the end", own.extra["end"] / curl.extra["end"], 1.5)
                usual = found["cachefetch --print fresh"]
                self.report.budget("under the default policy, to the first fresh byte", usual.p50 / curl.p50, None)
                self.report.budget("the same, to the end, under the default policy", usual.extra["end"] / curl.extra["end"], None)
                behind = found["cachefetch --background"]
                self.report.budget("with --background, to the end of the process that refreshes, against curl", behind.extra["end"] / curl.extra["end"], None)

    def https(self):
        """The first answer of a process over https, from an authority that the system trusts."""
        place = TrustedPlace(self.folder / "https", self.servers.sizes["10k"])
        runs = [
            (Sample("curl", "nothing"), ["curl", "-s", place.url]),
            (Sample("wget", "nothing"), ["wget", "-q", "-O", "-", place.url]),
            (Sample("cachefetch --policy fresh-only", row_wal), [self.cachefetch, "-q", "--policy", "fresh-only", "--store", self.store("https"), place.url]),
        ]
        ten = [
            (Sample(f"ten times {sample.name}", sample.durable), ["sh", "-c", 'for i in 0 1 2 3 4 5 6 7 8 9; do "$@"; done', "sh", *command])
            for sample, command in runs]
        try:
            spawn_alternate(2, runs, inside=place.inside)
            for sample, _ in runs:
                sample.values = []
            found = self.report.scene(
                "The first https answer of a process, 10 kB", spawn_alternate(self.rounds(20, 100), runs, inside=place.inside), processes=True)
            many = spawn_alternate(self.rounds(3, 20), ten, inside=place.inside)
            self.spent(many)
            self.report.scene("Ten processes one after the other over https, 10 kB", many, processes=True)
        finally:
            place.stop()
        own, curl = found["cachefetch --policy fresh-only"], found["curl"]
        self.report.budget("the first https answer of a process, against curl", own.p50 / curl.p50, 0.45)
        self.report.budget("the same, processor time", own.extra["cpu"] / curl.extra["cpu"], 0.45)
        self.report.budget("ten of them one after the other", many[2].p50 / many[0].p50, None)

    def preload(self):
        """Many URLs at once into the store, against files."""
        counts = [1_000] if self.quick else [1_000, 10_000]
        for count in counts:
            urls = self.folder / f"urls-{count}"
            urls.write_text("".join(f"{self.servers.url}/small/{n}\n" for n in range(count)))
            configuration = self.folder / f"curl-{count}"
            into = self.folder / f"into-{count}"
            into.mkdir(exist_ok=True)
            configuration.write_text("".join(f'url = "{self.servers.url}/small/{n}"\noutput = "{into}/{n}"\n' for n in range(count)))
            widths = [32] if self.quick else [1, 8, 32, 128]
            for width in widths:
                store, raw = self.store(f"preload-{count}-{width}"), self.store(f"preload-raw-{count}-{width}")
                clean = f"rm -f {store} {store}-wal {store}-shm {store}.lock && exec"
                multi = contenders / "raw_multi"
                runs = [
                    (Sample(f"curl --parallel-max {width}", "files"), ["sh", "-c", f"rm -rf {into} && mkdir {into} && exec curl -s --parallel --parallel-max {width} -K {configuration}"]),
                    (Sample(f"cachefetch preload --parallel {width}", row_wal), ["sh", "-c", f"{clean} {self.cachefetch} preload -q --store {store} --parallel {width} - < {urls}"]),
                    (Sample("C, libcurl multi", "nothing"), [multi, urls, str(width)]),
                    (Sample("C, libcurl multi and upserts", row_wal), ["sh", "-c", f"rm -f {raw} {raw}-wal {raw}-shm && exec {multi} {urls} {width} {raw}"]),
                ]
                if width == 1:
                    runs.append((Sample("wget -i", "files"), ["sh", "-c", f"rm -rf {into} && mkdir {into} && exec wget -q -P {into} -i {urls}"]))
                slow = []
                if self.python and (count, width) == (1_000, 32):
                    for name in ("requests_cache", "hishel"):
                        peer = root / f"Benchmarks/peers/{name}_peer.py"
                        slow.append((Sample(name.replace("_", "-"), "row, SQLite"), ["sh", "-c", f"rm -f {raw}.peer* && exec {self.python} {peer} {raw}.peer --list {urls} {width}"]))
                samples = spawn_alternate(self.rounds(5, 7), runs) + (spawn_alternate(self.rounds(1, 3), slow) if slow else [])
                for sample in samples:
                    sample.values = [sample.extra["end"]]
                self.report.scene(f"Preload of {count} URLs, {width} at a time", samples, processes=True)
                if (count, width) == (1_000, 32):
                    self.report.budget("preload of 1,000 URLs, 32 at a time, against curl", samples[1].p50 / samples[0].p50, 1.2)

    def launch(self):
        """A preload whose step hangs."""
        deadline, samples = 300, []
        count = self.rounds(10, 100)
        for phase in ("connect", "head", "body"):
            origin = HangingOrigin(phase)
            samples += alternate(1, [
                (Sample(f"hangs in {phase}"), [self.bench, "deadline", self.store(f"deadline-{phase}"), str(count), origin.url, str(deadline)])])
            origin.stop()
        self.report.scene(
            "A preload past its deadline", samples,
            note=f"From the deadline, {deadline} ms after the start, to the outcome in the caller's hands; {count} runs each. The longest: "
            + ", ".join(f"{sample.name} {duration(max(sample.values))}" for sample in samples) + ".")
        # Each from nothing stored to all of it fresh, then the stored ones first.
        pieces, = alternate(1, [
            (Sample("the longest piece of each launch"),
             [self.bench, "main-actor", self.store("main-actor"), str(self.rounds(10, 50)), f"{self.servers.url}/10k"])])
        self.report.scene(
            "What a launch asks of the main actor", [pieces],
            note="Processor time; twenty requests of 10 kB with decoders, a callback on the main actor.")
        self.report.budget("the main actor's longest piece of a launch", max(pieces.values) / 1e6, 1, "ms")
        self.report.budget("preload past its deadline, the longest", max(max(sample.values) for sample in samples) / 1e6, 50, "ms")

    def anticipation(self):
        """The same load, wanted so long after it was begun."""
        seconds, count = 0.12, self.rounds(15, 50)
        origin = SteadyOrigin(seconds)
        runs = [
            (Sample("without" if lead == 0 else f"begun {lead} ms ahead", row_wal), [self.bench, "anticipation", self.store("anticipation"), str(count), origin.url, str(lead)])
            for lead in (0, 50, 75, 100, 150)]
        samples = []
        for sample, command in runs:
            for path in self.folder.glob("anticipation.sqlite*"):
                path.unlink()
            samples += alternate(1, [(sample, command)])
        origin.stop()
        self.report.scene(
            "Start on intent", samples, "without",
            note=f"From wanting an answer that is not stored to having it, from an origin that takes {seconds * 1_000:.0f} ms; medians of {count}.")

    def big(self):
        """One large body through the store and back."""
        file = self.folder / "files/big"
        with open(file, "wb") as out:
            for _ in range(self.size >> 20):
                out.write(os.urandom(1 << 20))
        url, store, into = f"{self.servers.url}/big", self.store("big"), self.folder / "big-out"
        fetch = [self.cachefetch, "-q", "--store", store, "--max-body", "4G"]
        stored = [self.cachefetch, "-q", "--offline", "--store", store]
        # Nobody pays for what another has left to be written to the disk, or for removing it.
        clean = lambda *files: (Sample("not measured"), ["sh", "-c", f"rm -f {' '.join(map(str, files))}; sync"])
        measured = lambda samples: [sample for sample in samples if sample.name != "not measured"]
        samples = measured(spawn_alternate(1 if self.quick else 3, [
            clean(into),
            (Sample("curl -o", "file"), ["curl", "-s", "-o", into, url]),
            clean(into),
            (Sample("curl -o, then sync", "file, on the disk"), ["sh", "-c", f"curl -s -o {into} {url} && sync {into}"]),
            clean(into, f"{store}*"),
            (Sample("cachefetch -o, cold", "row and file"), [*fetch, "-o", into, url]),
            clean(into),
            (Sample("cachefetch --offline -o", "file"), [*stored, "-o", into, url]),
        ]))
        self.spent(samples)
        if not filecmp.cmp(file, into, shallow=False):
            raise SystemExit("what cachefetch --offline -o wrote is not what the origin has")
        wal = pathlib.Path(f"{store}-wal")
        note = f"The log (WAL) afterwards: {wal.stat().st_size >> 10 if wal.exists() else 0} KiB; the file has the origin's bytes."
        self.report.scene(f"A body of {self.size >> 20} MiB", samples, processes=True, note=note)
        self.report.budget("a large body into the store and a file, against curl -o", samples[2].p50 / samples[0].p50, 2)
        self.report.budget("the same body out of the store into a file", samples[3].p50 / samples[0].p50, 0.5)
        # To a pipe that is read, its content compared; the changed URL answers 200 to every request, with the same bytes, which
        # are not written twice.
        piped = measured(spawn_alternate(1, [
            (Sample("the origin's file"), ["cat", file]),
            (Sample("curl", "nothing"), ["curl", "-s", url]),
            clean(f"{store}*"),
            (Sample("cachefetch, cold", "row"), [*fetch, url]),
            clean(),
            (Sample("cachefetch --offline", "nothing"), [*stored, url]),
            (Sample("cachefetch --print both, cold", "row"), [*fetch, f"{self.servers.url}/changed/big"]),
            clean(),
            (Sample("cachefetch --print both, stored and fresh", "row"), [*fetch, "--print", "both", f"{self.servers.url}/changed/big"]),
        ]))
        for sample in piped[1:]:
            if sample.digests != piped[0].digests:
                raise SystemExit(f"{sample.name} did not write what the origin has")
        self.spent(piped)
        self.report.scene(
            f"A body of {self.size >> 20} MiB, to a pipe", piped[1:], processes=True,
            note="What came through the pipe has the XXH3 of the origin's file.")
        peak = lambda chosen: max(sample.extra["peak"] for sample in chosen) / 1024
        self.report.budget("peak memory of a fetch of it", peak([samples[2], piped[2], piped[4]]), 32, "MiB")
        self.report.budget("peak memory of the stored print", peak([samples[3], piped[3]]), 32, "MiB")
        self.report.budget("peak memory of both at once", peak(piped[5:]), 32, "MiB")

    @staticmethod
    def spent(samples):
        for sample in samples:
            sample.values = [sample.extra["end"]]

    def rows(self):
        """Cost against the number of rows."""
        counts = [1_000, 20_000] if self.quick else [1_000, 100_000, 1_000_000]
        stores = {}
        for count in counts:
            stores[count] = self.store(f"rows-{count}")
            begun = time.monotonic()
            output(self.bench, "fill", stores[count], str(count), "500")
            say(f"filled {count} rows in {time.monotonic() - begun:.1f} s")
        operations = {"open": "100", "look": "5000", "miss": "5000", "overwrite": "2000"}

        def operate(form, count):
            runs = [
                (Sample(f"{rows:,} rows", row_wal),
                 [self.bench, form, stores[rows], count] + ([] if form == "open" else [str(rows)]) + (["500"] if form in ("overwrite", "trim") else []))
                for rows in counts]
            samples = alternate(self.rounds(3, 5), runs)
            self.report.scene(f"Rows: {form}", samples)
            if form == "look":
                self.report.budget(f"stored delivery with {counts[-1]:,} rows against 1,000", samples[-1].p50 / samples[0].p50, 2)
        # Before the overwrites, which leave a log that each start would read.
        url = "http://127.0.0.1/item/0"
        samples = spawn_alternate(self.rounds(20, 100), [
            (Sample(f"{rows:,} rows", row_wal), [self.cachefetch, "--offline", "--store", stores[rows], url]) for rows in counts])
        self.report.scene("Rows: process start to first stored byte", samples, processes=True)
        self.report.budget(f"start with {counts[-1]:,} rows against 1,000", samples[-1].p50 / samples[0].p50, 1.1)
        for form, count in operations.items():
            operate(form, count)
        # Last, since it lets go of the rows that were looked for.
        operate("trim", "1000")

    def processes(self):
        """Processes that read and write one store at once."""
        store, samples = self.store("mixed"), []
        output(self.bench, "fill", store, "100", "10000")
        count = self.rounds(1_000, 5_000)
        for width in (1, 2, 4, 8):
            sample = Sample(f"{width} processes", row_wal)
            begun = time.monotonic()
            running = [
                subprocess.Popen([self.bench, "mixed", store, str(count), "100", "10000"], stdout=subprocess.PIPE, text=True)
                for _ in range(width)]
            for process in running:
                sample.add_round([int(line) for line in process.communicate()[0].split()])
                if process.returncode != 0:
                    raise SystemExit("a process of the mixed scene failed")
            sample.durable = f"{width * count / (time.monotonic() - begun):,.0f} operations/s"
            samples.append(sample)
        self.report.scene("Processes on one store, nine reads to one overwrite, 10 kB", samples)

    def following(self):
        """How soon other processes have what one has committed."""
        count, waits = self.rounds(10, 50), []
        for round in range(self.rounds(5, 10)):
            origin = HeldOrigin()
            store = self.store(f"following-{round}")
            running = [
                subprocess.Popen([self.bench, "follow", store, "1", origin.url], stdout=subprocess.PIPE, text=True) for _ in range(50)]
            for process in running:
                process.stdout.readline()
            time.sleep(1)  # by then all of them wait, for the origin or for the one that asked it
            origin.release()
            instants = sorted(int(process.communicate()[0]) for process in running)
            if origin.count != 1:
                raise SystemExit(f"the origin saw {origin.count} exchanges")
            # The first to have it is the one that committed it.
            waits.append([instant - instants[0] for instant in instants[1:]])
            origin.stop()
        last = Sample("the last of 49 followers", row_wal)
        last.add_round([max(round) for round in waits])
        every = Sample("every follower", row_wal)
        for round in waits:
            every.add_round(round)
        store = self.store("observed")
        output(self.bench, "fill", store, "1", "10000")
        url = "http://127.0.0.1/item/0"
        observer = subprocess.Popen([self.bench, "observe", store, str(count), url], stdout=subprocess.PIPE, text=True)
        observer.stdout.readline()
        time.sleep(0.5)  # it has seen the stored row by then; the next line it says is a change
        commits = [int(line) for line in output(self.bench, "commit", store, str(count), url, "97").split()]
        seen = [int(line) for line in observer.communicate()[0].split()]
        if len(seen) != count:
            raise SystemExit(f"{len(seen)} of {count} changes seen")
        changes = Sample("changes(to:) in another process", row_wal)
        changes.add_round([max(0, saw - committed) for saw, committed in zip(seen, commits)])
        self.report.scene(
            "From the commit to other processes", [every, last, changes], note="Counted from the committing process's own delivery, "
            f"which follows its commit at once. {len(waits)} × 50 processes on one cold key; {count} changes, 97 ms apart.")
        self.report.budget("from the commit to the last of 49 followers, milliseconds", last.p50 / 1e6, 20, "ms")
        self.report.budget("from the commit to changes(to:) in another process, the slowest", changes.quantile(1) / 1e6, 50, "ms")

    def ending(self):
        """From the first byte to the end of a command, with and without its share of the housekeeping."""
        store = self.store("ending")
        url = f"{self.servers.url}/10k"
        environment = {"CACHEFETCH_STORE": str(store)}
        subprocess.run([self.cachefetch, "-q", url], check=True, stdout=subprocess.DEVNULL, env={**os.environ, **environment})
        # The first word of the lock file says when a process last kept house: just after the boot makes it due, for each
        # run anew. The other runs do the same to another file.
        instant = self.folder / "instant"
        instant.write_bytes((1).to_bytes(8, "little"))
        begin = lambda file: ["sh", "-c", f"dd if={instant} of={file} bs=8 count=1 conv=notrunc 2>/dev/null; exec \"$@\"", "sh"]
        due, not_due = begin(f"{store}.lock"), begin(f"{store}.other")
        runs = [
            (Sample("cachefetch --offline"), [*not_due, self.cachefetch, "--offline", url]),
            (Sample("cachefetch --offline, housekeeping due"), [*due, self.cachefetch, "--offline", url]),
            (Sample("cachefetch, then fresh"), [*not_due, self.cachefetch, url]),
            (Sample("cachefetch, then fresh, housekeeping due"), [*due, self.cachefetch, url]),
        ]
        samples = spawn_alternate(self.rounds(40, 200), runs, environment)
        self.report.scene(
            "The end of a command", samples, processes=True,
            note="Times from the start of the shell that sets the store's mark. What is left over for the end is the difference of the "
            "medians: " + ", ".join(f"{sample.name} {duration(sample.extra['end'] - sample.p50)}" for sample in samples) + ".")

    def tier(self):
        """A fleet's second tier on Redis: what it brings, and what it costs."""
        fleet = Fleet(self.cachefetch)
        try:
            self.tier_of_hits(fleet)
            self.tier_in_process(fleet)
            self.tier_of_processes(fleet)
            self.tier_that_fails(fleet)
        finally:
            fleet.stop()

    def tier_of_hits(self, fleet):
        rows, store = 100, self.store("tier-hits")
        output(self.bench, "fill", store, str(rows), "10000")
        sequence = lambda count, *tier: [self.bench, "sequence", store, str(count), str(rows), *tier]
        without, with_tier = alternate(self.rounds(3, 9), [
            (Sample("sequence, no tier", row_wal), sequence(self.rounds(2_000, 10_000))),
            (Sample("sequence, a tier", row_wal), sequence(self.rounds(2_000, 10_000), fleet.asking))])
        each = lambda *tier: (instructions(sequence(1_200, *tier)) - instructions(sequence(200, *tier))) / 1_000
        counted = each(), each(fleet.asking)
        self.report.scene(
            "A second tier: what the local store answers, 10 kB", [without, with_tier],
            note=f"Instructions by callgrind: {counted[0]:,.0f} without a tier, {counted[1]:,.0f} with one.")
        self.report.budget("local hit with a tier configured, instructions of a sequence, against without", counted[1] / counted[0], 1.01)

    def tier_in_process(self, fleet):
        count, long = self.rounds(300, 1_000), 8 << 20
        # As long as the row: the body, its head, and what sealing adds.
        get = lambda by, count, bytes: [contenders / "raw_redis", by, fleet.socket, str(count), str(bytes + 500)]
        output(self.bench, "share", self.store("tier-shared"), str(count + 1), "10000", fleet.offering)

        def run(form, *words):
            store = self.store(f"tier-{form}")
            return ["sh", "-c", f'rm -f {store}* && exec "$@"', "sh", self.bench, form, store, *map(str, words)]

        floor = "C, a prepared GET over libcurl"
        samples = alternate(self.rounds(3, 5), [
            (Sample(floor, "memory"), get("libcurl", count, 10_000)),
            (Sample("C, a prepared GET on a blocking socket", "memory"), get("socket", count, 10_000)),
            (Sample("nothing stored, the tier's row, to the stored delivery", row_wal), run("from-tier", count, 10_000, fleet.asking)),
            (Sample("an exchange to its origin, with a tier that has a row"), run("ask", count, 100, 10_000, fleet.asking)),
            (Sample("an exchange to its origin, no tier"), run("ask", count, 100, 10_000)),
        ])
        bare, _, hit, ask, no_ask = samples
        asking = ask.p50 - no_ask.p50
        self.report.scene(
            "A second tier: its row, in process, 10 kB", samples,
            note="redis-server on a unix socket and a core of its own. The programs in C send bytes that are ready and look at no more of "
            "the reply than its length. The origin is a constant in the process. An ask is the difference of the last two medians: "
            f"{duration(asking)}, {asking / bare.p50:.2f} of the first.")
        self.report.budget("an ask of the tier with a 10 kB row, warm, against a prepared GET in C over libcurl", asking / bare.p50, None)
        self.report.budget("local miss and tier hit to the stored delivery, against that GET", hit.p50 / bare.p50, None)
        few = self.rounds(5, 10)
        output(self.bench, "share", self.store("tier-shared-long"), str(few + 1), str(long), fleet.offering)
        samples = alternate(self.rounds(1, 3), [
            (Sample(floor, "memory"), get("libcurl", few, long)),
            (Sample("nothing stored, the tier's row, to the stored delivery", row_wal), run("from-tier", few, long, fleet.asking)),
        ])
        self.report.scene("A second tier: its row, in process, 8 MiB", samples)
        self.report.budget("a body of 8 MiB out of the tier, to the stored delivery", samples[1].p50 / 1e6, 40, "ms")

    def tier_of_processes(self, fleet):
        rounds = self.rounds(20, 200)
        # Its answer comes later than the tier's row.
        origin = SteadyOrigin(0.05, 10_000)
        template = self.store("tier-empty")
        command = lambda store, *words: [self.cachefetch, "-q", "--store", store, *words, origin.url]
        subprocess.run(command(self.store("tier-first"), "--tier", fleet.offering), check=True, stdout=subprocess.DEVNULL)
        output(self.bench, "fill", template, "1", "10000")
        for number in range(rounds):
            shutil.copy(template, self.store(f"tier-empty-{number}"))
        samples = spawn_alternate(rounds, [
            (Sample("curl, from nginx", "nothing"), ["curl", "-s", f"{self.servers.url}/10k"]),
            (Sample("cachefetch --tier, a store without the row", row_wal), command(self.store("tier-empty-{round}"), "--tier", fleet.asking)),
            (Sample("cachefetch --tier, no store yet", row_wal), command(self.store("tier-none-{round}"), "--tier", fleet.asking)),
            (Sample("cachefetch, no tier", row_wal), command(self.store("tier-alone-{round}"))),
        ])
        origin.stop()
        curl, empty, none, alone = samples
        if not max(empty.p50, none.p50) < 50e6 < alone.p50:
            raise SystemExit("the first byte is not the tier's")
        self.report.scene(
            "A second tier: process start to the first stored byte, 10 kB", samples, processes=True,
            note="The origin of cachefetch answers after 50 ms, so that what comes before is the tier's row.")
        self.report.budget("a new process to its first stored byte out of the tier, 10 kB, against curl from nginx", empty.p50 / curl.p50, 0.9)

    def tier_that_fails(self, fleet):
        count = self.rounds(5, 20)
        number = 0

        def waits(name, *url):
            nonlocal number
            number += 1
            both, = alternate(1, [(Sample(name), [self.bench, "wait", self.store(f"tier-wait-{number}"), str(count), *url])])
            samples = Sample(f"{name}: the first load"), Sample(f"{name}: the next one")
            for index, sample in enumerate(samples):
                sample.add_round(both.values[index::2])
            return samples

        none = waits("no tier")
        refused = waits("a socket that is not there", fleet.url("nobody"))
        hole = waits("a listener that never answers", fleet.url("hole"))
        self.report.scene(
            "A second tier that does not answer", [*none, *refused, *hole],
            note=f"From the beginning of an exchange until it comes to its origin; two loads each on {count} stores of their own.")
        longer = lambda samples, load: (samples[load].p50 - none[load].p50) / 1e6
        self.report.budget("what the first load waits for a tier that is not there", longer(refused, 0), 1, "ms")
        self.report.budget("what the first load in 5 s waits for a tier that never answers", longer(hole, 0), 100, "ms")
        self.report.budget("what the next load waits for it", longer(hole, 1), 0.05, "ms")

    def stampede(self):
        """Fifty processes, one cold key, a slow origin."""
        origin = SlowOrigin(0.5)
        store = self.store("stampede")
        environment = {**os.environ, "CACHEFETCH_STORE": str(store)}
        ends = []

        def wait(process):
            process.wait()
            ends.append((time.monotonic(), process.returncode))

        running = [
            subprocess.Popen([self.cachefetch, "-q", origin.url], stdout=subprocess.DEVNULL, env=environment) for _ in range(50)]
        waiting = [threading.Thread(target=wait, args=(process,)) for process in running]
        for thread in waiting:
            thread.start()
        for thread in waiting:
            thread.join()
        failed = [status for _, status in ends if status != 0]
        last = (max(end for end, _ in ends) - origin.answered) * 1_000
        self.report.text(
            "Stampede", f"50 processes asked for one cold key at an origin that answers after 0.5 s: it saw {origin.count} "
            f"exchange(s); the last process had ended {last:.0f} ms after the answer was sent; {len(failed)} failed.")
        self.report.budget("exchanges seen by the origin in a stampede of 50", origin.count, 1, "")
        origin.stop()


class Origin:
    """Serves each connection by a function of its reader and writer, on a thread of its own."""

    def __init__(self, serve):
        class Handler(socketserver.StreamRequestHandler):
            disable_nagle_algorithm = True

            def handle(self):
                try:
                    serve(self.rfile, self.wfile)
                except OSError:
                    pass  # whoever asked has gone

        class Server(socketserver.ThreadingTCPServer):
            request_queue_size, daemon_threads, block_on_close = 256, True, False

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def read_head(reader):
    """Whether there was one."""
    lines = 0
    while reader.readline().strip():
        lines += 1
    return lines > 0


class HeldOrigin(Origin):
    """Answers nobody until it is told to."""

    def __init__(self):
        self.may_answer, self.count = threading.Event(), 0

        def serve(reader, writer):
            while read_head(reader):
                self.count += 1
                self.may_answer.wait()
                body = b"x" * 10_000
                writer.write(b"HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

        super().__init__(serve)

    def release(self):
        self.may_answer.set()


class SteadyOrigin(Origin):
    """Answers every request after the same time, on connections that stay open."""

    def __init__(self, seconds, length=1_000):
        def serve(reader, writer):
            while read_head(reader):
                time.sleep(seconds)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nCache-Control: max-age=60\r\n\r\n" % length + b"x" * length)

        super().__init__(serve)


class HangingOrigin(Origin):
    """Hangs in connecting, in the head or in the body."""

    def __init__(self, phase):
        begun = {"head": b"HTTP/1.1 200 OK\r\nContent-", "body": b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345"}

        def serve(reader, writer):
            read_head(reader)
            writer.write(begun[phase])
            reader.read()

        self.held = []
        if phase != "connect":
            super().__init__(serve)
            return
        # A queue that is full: the kernel leaves whoever connects next without an answer.
        self.server = None
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        self.held.append(listener)
        for _ in range(4):
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
            self.held.append(client)
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"

    def stop(self):
        for held in self.held:
            held.close()
        if self.server:
            super().stop()


class SlowOrigin:
    def __init__(self, seconds):
        outer = self
        self.count, self.answered = 0, 0.0

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                while self.rfile.readline().strip():
                    pass
                outer.count += 1
                time.sleep(seconds)
                outer.answered = time.monotonic()
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\nCache-Control: max-age=60\r\n\r\nslow\n")

        class Server(socketserver.ThreadingTCPServer):
            request_queue_size, daemon_threads = 256, True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/slow"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
