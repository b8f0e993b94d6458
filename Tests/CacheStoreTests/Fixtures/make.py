#!/usr/bin/env python3
"""Makes a store with a row of every kind, as one small file: what StoredBeforeTests opens.

usage: make.py FILE     after `swift build --build-tests`; FILE must not be there

A file that is here stays as it is: later releases have to read what was stored before. Where the form of the store
changes on purpose, make another one beside it.
"""
import http.server
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import threading

PRODUCTS = pathlib.Path(__file__).resolve().parents[3] / ".build" / "debug"


class Origin(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body, *fields):
        self.send_response_only(status)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        language = self.headers.get("Accept-Language", "none")
        answers = {
            "/short": (200, b"short\n", ("Content-Type", "text/plain"), ("ETag", '"short"'), ("X-Name", "J\u00fcrgen")),
            "/empty": (200, b""),
            "/of-alice": (200, b"for alice\n", ("Cache-Control", "private, max-age=60")),
            "/in-languages": (200, f"in {language}\n".encode(), ("Vary", "Accept-Language, Accept")),
            "/moved": (301, b"", ("Location", "/short"), ("Cache-Control", "max-age=600")),
            "/missing": (404, b"missing\n", ("Cache-Control", "max-age=600")),
            "/changed": (200, b"before the change\n", ("Cache-Control", "max-age=600")),
            "/named": (200, b"under a key\n"),
        }
        self.answer(*answers[self.path])

    def do_POST(self):
        asked = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(200, b"asked: " + asked + b"\n", ("Content-Type", "text/plain"))

    def log_message(self, *_):
        pass


def fill(path, home):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{server.server_port}"

    def fetch(name, *options):
        subprocess.run(
            [PRODUCTS / "cachefetch", "--store", path, "--print", "none", *options, f"{origin}/{name}"],
            check=True, env={"HOME": home, "PATH": os.environ["PATH"]})

    fetch("short", "--tag", "first", "--tag", "second", "--pin")
    fetch("empty")
    fetch("of-alice", "--account", "alice", "--tag", "first")
    for language in ("de", "en"):
        fetch("in-languages", "-H", f"Accept-Language: {language}")
    fetch("moved")
    fetch("moved", "--no-location", "--policy", "http")
    fetch("missing", "--policy", "http")
    fetch("changed")
    fetch("changed", "-X", "POST", "-d", "change")
    fetch("search", "--read", "-d", "question")
    fetch("named", "--key", "named")
    subprocess.run([PRODUCTS / "StoreDriver", "long", path, f"{origin}/long"], check=True)
    # Adds when each was used, which stands beside the file until then.
    subprocess.run([PRODUCTS / "cachefetch", "--store", path, "list"], check=True)
    server.shutdown()


def main(file):
    if pathlib.Path(file).exists():
        sys.exit(f"error: {file} is there already")
    with tempfile.TemporaryDirectory() as home:
        path = f"{home}/store.sqlite"
        fill(path, home)
        database = sqlite3.connect(path, isolation_level=None)
        # One file, without a log; small pages, since each of the tables and indexes takes one at least.
        database.execute("PRAGMA journal_mode = DELETE")
        database.execute("PRAGMA page_size = 1024")
        database.execute("VACUUM")
        database.close()
        pathlib.Path(file).write_bytes(pathlib.Path(path).read_bytes())


main(*sys.argv[1:])
