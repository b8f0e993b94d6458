"""Clients that mean harm, kills at any time, a full disk, and a million requests in fast motion, against `cachefetch serve`.

usage: hostile.py PROGRAM [REQUESTS [SECONDS]]     fails, or says what was measured; run by scripts/check serve
"""
import contextlib
import http.server
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

PROGRAM = os.path.abspath(sys.argv[1])
IS_FULL = "--full" in sys.argv
REQUESTS = int(sys.argv[2]) if len(sys.argv) > 2 and not IS_FULL else 1_000_000
SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 and not IS_FULL else 300
HOSTILE, GROWTH = 40, 8 << 20


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self):
        body = b"0123456789" * 1_000
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


class Origin(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *words):
        pass


def need(holds, message):
    if not holds:
        sys.exit(f"error: {message}")


class Serve:
    def __init__(self, folder):
        self.store = str(folder / "store.sqlite")
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "-v", "--no-sandbox", "--store", self.store], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.said = threading.Event()
        threading.Thread(target=self.listen, daemon=True).start()
        need(self.said.wait(60), "serve does not listen")

    def listen(self):
        for line in self.process.stderr:
            if b"listening" in line:
                self.said.set()

    def connect(self):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(60)
        client.connect(self.store + ".serve")
        return client

    def ask(self, **members):
        with self.connect() as client:
            client.sendall(json.dumps(members).encode() + b"\n")
            return [json.loads(line) for line in client.makefile("rb")]

    def memory(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) << 10

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait()


def misbehave(serve, url, kind):
    """One hostile client of a kind; whatever happens to it is fine."""
    line = json.dumps({"url": url}).encode() + b"\n"
    with contextlib.suppress(OSError), serve.connect() as client:
        client.settimeout(5)
        if kind == 0:  # garbage
            client.sendall(os.urandom(random.randrange(1, 5_000)) + b"\n")
            client.recv(9_999)
        elif kind == 1:  # half a line, then gone
            client.sendall(line[: random.randrange(1, len(line) - 1)])
        elif kind == 2:  # a line of 100 MB
            for _ in range(1_600):
                client.sendall(b"x" * 65_536)
        elif kind == 3:  # asks and does not read
            client.sendall(line)
            time.sleep(0.2)
        elif kind == 4:  # asks and is gone
            client.sendall(line)
        elif kind == 5:  # a line, a byte at a time
            for byte in line:
                client.sendall(bytes([byte]))
            client.recv(99)
        elif kind == 6:  # nested, and two lines
            client.sendall(b"[" * 100_000 + b"\n" + line)
            client.recv(9_999)
        else:  # nothing
            time.sleep(0.1)


def hostile(folder, url):
    serve = Serve(folder)
    serve.ask(url=url)
    before, ends = (serve.memory(), serve.descriptors()), time.monotonic() + 10
    count = [0] * HOSTILE

    def work(number):
        while time.monotonic() < ends:
            misbehave(serve, url, (number + count[number]) % 8)
            count[number] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(HOSTILE)]
    for thread in threads:
        thread.start()
    slowest, asked = 0, 0
    while time.monotonic() < ends:
        began = time.monotonic()
        lines = serve.ask(url=url)
        slowest, asked = max(slowest, time.monotonic() - began), asked + 1
        need([line["delivery"] for line in lines] == ["stored", "fresh"], f"among hostile clients one is answered {lines}")
    for thread in threads:
        thread.join()
    end = time.monotonic() + 10
    while serve.descriptors() > before[1] + 8 and time.monotonic() < end:
        time.sleep(0.1)
    need(serve.descriptors() <= before[1] + 8, f"{serve.descriptors()} descriptors are open, and {before[1]} were")
    print(f"{HOSTILE} hostile clients, {sum(count)} times in 10 s; {asked} others answered, the slowest in {slowest * 1e3:.0f} ms; "
          f"memory {before[0] / 1e6:.1f} MB, then {serve.memory() / 1e6:.1f}")
    need(serve.end() == 143, "serve does not end as it should")


def kills(folder, url):
    for _ in range(20):
        serve = Serve(folder)
        threads = [threading.Thread(target=misbehave, args=(serve, url, number % 8)) for number in range(16)]
        command = subprocess.Popen([PROGRAM, "--store", serve.store, "--print", "last", url], stdout=subprocess.PIPE)
        for thread in threads:
            thread.start()
        time.sleep(random.random() / 20)
        serve.end(signal.SIGKILL)
        body = command.communicate()[0]
        need(command.returncode == 0 and len(body) == 10_000, f"after a kill a command ends with {command.returncode}")
        for thread in threads:
            thread.join()
    checked = subprocess.run([PROGRAM, "doctor", "--store", serve.store], capture_output=True)
    need(checked.returncode == 0, f"after the kills doctor says: {checked.stdout.decode()}")
    print("20 kills: each command had its answer, and doctor finds nothing")


def full(folder, url):
    """A store on a disk without room, in a mount namespace of its own where that can be had."""
    script = 'mount -t tmpfs -o size=2m none "$1" && shift && exec "$@"'
    words = ["unshare", "-rm", "sh", "-c", script, "sh", folder, sys.executable, __file__, PROGRAM, "--full", folder, url]
    run = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    need(run.returncode == 0, f"on a full disk: {run.stdout}{run.stderr}")
    print(run.stdout.strip())


def on_full_disk(folder, url):
    serve = Serve(folder)
    serve.ask(url=url)
    with contextlib.suppress(OSError), open(folder / "filler", "wb", buffering=0) as filler:
        while True:
            filler.write(bytes(4_096))
    lines = [line for number in range(200) for line in serve.ask(url=f"{url}{number}", policy="fresh-only")]
    need(all(line["delivery"] == "fresh" and len(line["body"]) == 10_000 for line in lines), "a fresh response is missing")
    reasons = {line.get("kept_reason") for line in lines}
    need(reasons - {None}, "nothing was refused for want of room")
    print(f"a full disk: 200 fresh responses, not kept: {', '.join(sorted(reasons - {None}))}")
    need(serve.end() == 143, "serve does not end as it should")


def many(folder, url):
    serve = Serve(folder)
    serve.ask(url=url)
    ask = json.dumps({"url": url, "max_age": "1d", "body": "store"}).encode() + b"\n"
    fresh = json.dumps({"url": url, "body": "store"}).encode() + b"\n"
    began, samples, done = time.monotonic(), [], 0
    while done < REQUESTS and time.monotonic() < began + SECONDS:
        for _ in range(1_000):
            with serve.connect() as client:
                client.sendall(fresh if done % 100 == 0 else b"nonsense\n" if done % 100 == 1 else ask)
                if done % 100 != 2:  # that one is gone at once
                    client.recv(65_536)
            done += 1
        samples.append(serve.memory())
    tenth, half, end = (samples[max(0, len(samples) * part // 100 - 1)] for part in (10, 50, 100))
    print(f"{done} requests in {time.monotonic() - began:.0f} s; memory after 10, 50 and 100 %: "
          f"{tenth / 1e6:.1f}, {half / 1e6:.1f}, {end / 1e6:.1f} MB")
    need(end < half + GROWTH // 4 and end < tenth + GROWTH, "its memory grows")
    need(serve.end() == 143, "serve does not end as it should")


def main():
    for name in ("http_proxy", "all_proxy", "ALL_PROXY"):
        os.environ.pop(name, None)
    if IS_FULL:
        return on_full_disk(pathlib.Path(sys.argv[3]), sys.argv[4])
    origin = Origin(("127.0.0.1", 0), Handler)
    threading.Thread(target=origin.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{origin.server_port}/x"
    with tempfile.TemporaryDirectory() as name:
        for work in (hostile, kills, full, many):
            folder = pathlib.Path(name) / work.__name__
            folder.mkdir()
            work(folder, url)


if __name__ == "__main__":
    main()
