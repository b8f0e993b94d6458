"""An origin on loopback, for any host if it is the proxy, for the page of `cachefetch report`: bodies of every kind, hostile ones among them, and any number of
short ones under /n/."""
import asyncio
import json
import re
import struct
import threading
import zlib


def png(side):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    lines = b"".join(b"\0" + bytes(v for x in range(side) for v in (x * 255 // side, y * 255 // side, 160)) for y in range(side))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))


# What would be seen if any of it ran or were asked for.
HARM = '<script>window.harmed = 1; document.title = "harmed"</script><img src="/harm.png" onerror="window.harmed = 1">'
NEWS = {"edition": 2, "headline": "Lighthouse lamp back after repair", "draft": False, "next": None,
        "tags": ["harbour", "light"], "places": {"lamp": {"height": 31.5}}}
BODIES = {
    "/news.json": ("application/json", json.dumps(NEWS).encode()),
    "/number.json": ("application/vnd.api+json; charset=utf-8", b'{"id": 12345678901234567890, "price": 1.50}'),
    "/long.json": ("application/json", json.dumps(list(range(1200))).encode()),
    "/deep.json": ("application/json", b"[" * 20000 + b"]" * 20000),
    "/wrong.json": ("application/json", b'{"cut": '),
    "/hostile.json": ("application/json", json.dumps(
        {"</script><script>window.harmed = 1</script>": HARM, "__proto__": {"harmed": 1}, "line\u2028break": "\u202ereversed"},
        ensure_ascii=False).encode()),
    "/page.html": ("text/html; charset=utf-8", f"<!doctype html><!-- </script> {HARM}\u2028</style><p>café".encode()),
    "/comment.txt": ("text/plain", b"<!--<script></script>{style}{details}\0-->"),
    "/broken.txt": ("text/plain; charset=utf-8", b"broken \xff\xfe\xc3( text"),
    "/latin.txt": ("text/plain; charset=iso-8859-1", b"caf\xe9"),
    "/picture.png": ("image/png", png(64)),
    "/broken.png": ("image/png", b"\x89PNG\r\n\x1a\n broken"),
    "/drawing.svg": ("image/svg+xml", (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="120" height="60" '
        'onload="window.harmed = 1"><script>window.harmed = 1; parent.harmed = 1</script>'
        '<rect width="120" height="60" fill="teal"/><image href="{origin}/harm.png" xlink:href="{origin}/harm.png"/></svg>').encode()),
    "/binary": ("application/octet-stream", bytes(range(256))),
    "/large.txt": ("text/plain", b"x" * 70_000),
    "/empty": ("text/plain", b""),
    "/mine.json": ("application/json", b'{"balance": "only alice may see this"}'),
}


class Connection(asyncio.Protocol):
    def __init__(self, origin):
        self.origin, self.received = origin, b""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.received += data
        while b"\r\n\r\n" in self.received:
            head, self.received = self.received.split(b"\r\n\r\n", 1)
            # To a proxy it is a whole URL.
            path = re.sub("^http://[^/]*", "", head.split(b" ", 2)[1].decode())
            self.transport.write(self.origin.answer(path))


class Origin:
    def __init__(self):
        self.asked = []
        ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self.serve(ready)), daemon=True).start()
        ready.wait()

    async def serve(self, ready):
        server = await asyncio.get_running_loop().create_server(lambda: Connection(self), "127.0.0.1", 0)
        self.url = "http://127.0.0.1:%d" % server.sockets[0].getsockname()[1]
        ready.set()
        await server.serve_forever()

    def answer(self, path):
        self.asked.append(path)
        if path.startswith("/n/"):
            number = int(path.rsplit("/", 1)[1])
            kind, body = "application/json", json.dumps({"number": number, "text": "entry " * (number % 40)}).encode()
        elif path not in BODIES:
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        else:
            kind, body = BODIES[path]
            body = body.replace(b"{origin}", self.url.encode())
            number = len(path)
        age = "max-age=%d" % (0 if number % 4 == 0 else 600 * (number % 97 + 1))
        head = ["HTTP/1.1 200 OK", f"Content-Type: {kind}", f"Content-Length: {len(body)}", f"Cache-Control: {age}", f'ETag: "{number}"']
        return ("\r\n".join(head) + "\r\n\r\n").encode() + body
