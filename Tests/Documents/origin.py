"""The origin behind every https://….example.com URL of the documents: it does what the check says next, and counts."""
import http.server
import json
import socket
import socketserver
import ssl
import threading
import time

HEADLINES = [
    "Night train reaches the coast on time", "Lighthouse lamp back after repair", "Harbour frozen, ferries wait",
    "Ice gone, ferries sail again",
]


def body(path, edition):
    """What `path` holds in an edition."""
    name = path.partition("?")[0]
    if name.endswith("/news"):
        headline = HEADLINES[(edition - 1) % len(HEADLINES)]
        return f'{{"edition": {edition}, "headline": "{headline}"}}\n'.encode()
    if name.endswith(".png"):
        return b"\x89PNG\r\n\x1a\n\x00\x00edition %d\xff\xfe" % edition
    if name.endswith(".txt") or name.endswith(".html"):
        return f"{name}, edition {edition}\n".encode()
    page = path.partition("?page=")[2]
    items = [f"item {page}.{edition}" if page else f"item {edition}"]
    content = {"name": name, "edition": edition, "items": items, "text": f"edition {edition}"}
    return (json.dumps(content) + "\n").encode()


def media_type(path):
    name = path.partition("?")[0]
    for end, kind in ((".png", "image/png"), (".txt", "text/plain; charset=utf-8"), (".html", "text/html")):
        if name.endswith(end):
            return kind
    return "application/json"


class Origin:
    """One origin on the ports 80, 443 and 8080 of this machine's loopback."""

    def __init__(self, certificate, key, now):
        self.now = now
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(certificate, key)
        self.servers = []
        self.reset()

    def reset(self):
        self.edition = 1
        self.mode = "quick"
        self.requests = []
        self.asked = threading.Condition()
        self.gate = threading.Event()
        self.start()

    def start(self):
        if self.servers:
            return
        for port in (80, 443, 8080):
            server = Server(("127.0.0.1", port), Handler)
            server.origin, server.tls = self, self.tls if port == 443 else None
            # The default looks for the end of serving every half second.
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            self.servers.append(server)

    def stop(self):
        for server in self.servers:
            server.shutdown()
            server.server_close()
            server.hang_up()
        self.servers = []

    def record(self, request):
        with self.asked:
            self.requests.append(request)
            self.asked.notify_all()

    def wait_for(self, count, seconds):
        """Whether that many requests have come, or come within the time."""
        with self.asked:
            return self.asked.wait_for(lambda: len(self.requests) >= count, seconds)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, *arguments):
        self.connections, self.lock = set(), threading.Lock()
        super().__init__(*arguments)

    def hang_up(self):
        """Connections that were kept open end too."""
        with self.lock:
            for connection in self.connections:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # The other side was faster.

    def server_bind(self):
        # HTTPServer's own looks its name up.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]

    def finish_request(self, request, address):
        if self.tls:
            request = self.tls.wrap_socket(request, server_side=True)
        with self.lock:
            self.connections.add(request)
        try:
            super().finish_request(request, address)
        finally:
            with self.lock:
                self.connections.discard(request)

    def handle_error(self, request, address):
        pass  # A client that goes away in the middle is part of what is tried.


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, *arguments):
        pass

    def date_time_string(self, timestamp=None):
        return super().date_time_string(self.server.origin.now() if timestamp is None else timestamp)

    def reply(self, status, content=b"", fields=()):
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        if status != 304:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD" and status != 304:
            self.wfile.write(content)
        self.wfile.flush()

    def answer(self):
        origin = self.server.origin
        length = int(self.headers.get("Content-Length") or 0)
        if length:
            self.rfile.read(length)
        host = (self.headers.get("Host") or "").partition(":")[0]
        mode, edition, gate = origin.mode, origin.edition, origin.gate
        origin.record(f"{self.command} {host}{self.path}")
        if mode == "slow":
            gate.wait(60)
        sign_in = b"<html><title>Hotel WiFi</title>Please sign in.</html>\n"
        if host == "portal.example.com" or mode == "own portal":
            return self.reply(200, sign_in, [("Content-Type", "text/html")])
        if mode == "portal":
            return self.reply(302, b"", [("Location", "https://portal.example.com/login")])
        if mode == "broken":
            return self.reply(503, b"out of order\n", [("Content-Type", "text/plain")])
        if mode == "missing":
            return self.reply(404, b"no such page\n", [("Content-Type", "text/plain")])
        content, tag = body(self.path, edition), f'"{edition}"'
        fields = [("ETag", tag), ("Content-Type", media_type(self.path))]
        fields.append(("Cache-Control", "no-cache" if host == "127.0.0.1" else "max-age=60"))
        if self.path.endswith("/user.json"):  # Any token is good but one.
            fields.append(("Vary", "Accept, Authorization"))
            if (self.headers.get("Authorization") or "Bearer revoked") == "Bearer revoked":
                return self.reply(401, b"who are you?\n", [("Content-Type", "text/plain")])
        before, page, number = self.path.partition("?page=")
        if page and int(number) < 3:
            fields.append(("Link", f'<https://{host}{before}?page=1>; rel="first", '
                                   f'<https://{host}{before}?page={int(number) + 1}>; rel="next"'))
        if tag in (self.headers.get("If-None-Match") or ""):
            return self.reply(304, b"", fields)
        if mode == "cut off":
            self.send_response(200)
            for name, value in fields + [("Content-Length", str(len(content)))]:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content[: len(content) // 2])
            self.close_connection = True
            return None
        return self.reply(200, content, fields)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer
