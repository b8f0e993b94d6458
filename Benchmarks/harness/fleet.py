"""redis-server on a unix socket, as the second tier of a fleet that has one machine."""

import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

from tools import output, serving_core


class Fleet:
    def __init__(self, cachefetch):
        # A socket's path has to be short.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tier-"))
        self.socket = self.folder / "redis.socket"
        self.key = self.folder / "fleet.key"
        self.key.write_text(output(cachefetch, "doctor", "--new-fleet-key"))
        self.key.chmod(0o600)
        self.server = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.socket, "--save", "", "--dir", self.folder],
            stdout=subprocess.DEVNULL, preexec_fn=serving_core)
        end = time.monotonic() + 20
        while not self.answers():
            if time.monotonic() > end:
                raise SystemExit("redis-server does not answer")
            time.sleep(0.02)
        # Accepts nobody: whoever connects waits for an answer.
        self.hole = socket.socket(socket.AF_UNIX)
        self.hole.bind(str(self.folder / "hole.socket"))
        self.hole.listen(4096)

    def answers(self):
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(str(self.socket)) == 0

    def url(self, name="redis", **more):
        words = {"key-file": self.key, "plain-http": "yes", **more}
        return f"redis+unix://{self.folder}/{name}.socket?" + "&".join(f"{key}={value}" for key, value in words.items())

    @property
    def offering(self):
        """For whoever fills it, however busy the machine is."""
        return self.url(patience="10s")

    @property
    def asking(self):
        """What is in the tier stays as it is."""
        return self.url(**{"read-only": "yes"})

    def stop(self):
        self.server.terminate()
        self.server.wait()
        self.hole.close()
        shutil.rmtree(self.folder, ignore_errors=True)
