"""What cachefetch delivers for a URL: what is stored at once, then the fresh response or a failure.

    for delivery in cachefetch.get("https://api.example.com/news", "--max-age", "5m"):
        print(delivery["delivery"], delivery.get("change"), delivery.body)

A delivery is one object of `cachefetch --json` (docs/delivery.schema.json), with its body as bytes.
"""
import base64
import json
import socket
import subprocess


class Delivery(dict):
    @property
    def body(self):
        if "body_base64" in self:
            return base64.b64decode(self["body_base64"])
        return self.get("body", "").encode()


def get(url, *options):
    """Yields each delivery as it comes. Leaving the loop early ends the command."""
    command = ["cachefetch", "--json", "-sS", *options, "--", url]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            for line in process.stdout:
                yield Delivery(json.loads(line))
        except GeneratorExit:
            process.terminate()
            raise
        said = process.stderr.read().decode()
        # 3, 4 and 22 are in the deliveries; others mean that the command could not do what it was asked.
        if process.wait() not in (0, 3, 4, 22):
            raise subprocess.CalledProcessError(process.returncode, command, stderr=said)


def ask(store, url, **members):
    """The same from a `cachefetch serve` of that store (docs/serve.schema.json), over connections that it keeps."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(store + ".serve")
        connection.sendall(json.dumps({"url": url, **members}).encode() + b"\n")
        for line in connection.makefile("rb"):
            answer = Delivery(json.loads(line))
            if "delivery" not in answer:
                raise ValueError(answer["error"]["message"])
            yield answer
