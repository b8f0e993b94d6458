#!/usr/bin/env python3
"""The origin of jobs.sh: it prints its ports, and does what its standard input says.

usage: jobs-origin.py FOLDER          the folder gets a certificate authority (ca.pem) and a Unix-domain socket (socket)

    edition N     what every path holds from now on
    mode MODE     up, down (every connection is ended unanswered), or a status
    release       ends the wait of /held
    asked         prints how many requests have come since it was last asked
Each line is answered by a line. By what they end in, paths differ: see `Handler.answer`.
"""
import http.server
import json
import os
import socket
import socketserver
import ssl
import subprocess
import sys
import threading

state = {"edition": 1, "mode": "up", "asked": 0, "cuts": 0}
lock = threading.Lock()
# Set when /9 has been answered: /slow is slower than that.
ninth = threading.Event()
released = threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def address_string(self):
        return "-"

    def reply(self, status, content=b"", *fields):
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        if status != 304:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD" and status != 304:
            self.wfile.write(content)

    def answer(self):
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with lock:
            state["asked"] += 1
            edition, mode = state["edition"], state["mode"]
        if mode == "down":
            self.close_connection = True
            return None
        if mode != "up":
            return self.reply(int(mode), b"<h1>out of order</h1>\n", ("Content-Type", "text/html"))
        # As a proxy it is asked with the whole URL.
        path = "/" + self.path.split("/", 3)[3] if self.path.startswith("http") else self.path
        tag, fields = f'"{edition}"', [("Content-Type", "application/json")]
        content = json.dumps({"edition": edition, "path": path}).encode() + b"\n"
        if path == "/limited":
            return self.reply(429, b"too many\n", ("Retry-After", "3600"))
        if path.startswith("/missing"):
            return self.reply(404, b"<h1>no such page</h1>\n", ("Content-Type", "text/html"))
        if path.startswith("/user"):  # As GitHub's: a token of which any is good, and Vary.
            if not self.headers.get("Authorization"):
                return self.reply(401, b'{"message": "sign in"}\n', *fields)
            fields.append(("Vary", "Accept, Authorization"))
        elif path.startswith("/graphql"):
            content = json.dumps({"edition": edition, "asked": json.loads(sent)["query"]}).encode() + b"\n"
        elif path.startswith("/page/"):
            number = int(path.rsplit("/", 1)[1])
            content = json.dumps([f"item {number}"]).encode() + b"\n"
            if number < 3:
                fields.append(("Link", f'<http://{self.headers["Host"]}/page/{number + 1}>; rel="next"'))
        elif path.startswith("/either"):
            wants_text = "json" not in (self.headers.get("Accept") or "")
            fields.append(("Vary", "Accept"))
            if wants_text:
                fields[0], content, tag = ("Content-Type", "text/plain"), b"as text\n", f'"{edition}t"'
        elif path.startswith("/slow"):
            ninth.wait(20)
        elif path == "/held":
            released.wait(20)
        elif path.endswith(".txt"):
            fields[0], content = ("Content-Type", "text/plain"), f"{path[1:]}, edition {edition}\n".encode()
        elif path.startswith("/big"):
            return self.big(edition)
        fields += [("ETag", tag), ("Cache-Control", "max-age=0" if path.startswith("/stale") else "no-cache")]
        if tag in (self.headers.get("If-None-Match") or ""):
            return self.reply(304, b"", *fields)
        self.reply(200, content, *fields)
        if path == "/9":
            ninth.set()

    def big(self, edition):
        """Three million bytes; the first connection is cut in the middle, and what is left can be asked for."""
        content = bytes(range(250)) * 12_000
        begin = 0
        if self.headers.get("Range"):
            begin = int(self.headers["Range"].removeprefix("bytes=").split("-")[0])
        self.send_response(206 if begin else 200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("ETag", f'"{edition}"')
        self.send_header("Accept-Ranges", "bytes")
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - begin))
        self.end_headers()
        with lock:
            state["cuts"] += 1
            is_cut = state["cuts"] == 1
        self.wfile.write(content[begin:begin + 1_500_000] if is_cut else content[begin:])
        self.close_connection = self.close_connection or is_cut

    do_GET = do_HEAD = do_POST = answer


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 256
    tls = None

    def finish_request(self, request, address):
        if self.tls:
            request = self.tls.wrap_socket(request, server_side=True)
        super().finish_request(request, address)

    def handle_error(self, request, address):
        pass


class UnixServer(Server):
    address_family = socket.AF_UNIX


def main(folder):
    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder)

    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
            "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=localhost",
            "-keyout", "key.pem", "-out", "request.pem")
    with open(os.path.join(folder, "names"), "w") as file:
        file.write("subjectAltName=DNS:localhost\n")
    openssl("x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30",
            "-extfile", "names", "-out", "certificate.pem")
    plain, secure = Server(("127.0.0.1", 0), Handler), Server(("127.0.0.1", 0), Handler)
    secure.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secure.tls.load_cert_chain(os.path.join(folder, "certificate.pem"), os.path.join(folder, "key.pem"))
    for server in (plain, secure, UnixServer(os.path.join(folder, "socket"), Handler)):
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print(plain.server_address[1], secure.server_address[1], flush=True)
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        with lock:
            answer = "done"
            if word == "release":
                released.set()
            elif word == "asked":
                answer, state["asked"] = str(state["asked"]), 0
            else:
                state[word] = int(rest) if word == "edition" else rest
        print(answer, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
