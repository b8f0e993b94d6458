"""A machine of its own for the documents: a network with nothing but loopback, where every name under example.com is the
scripted origin and its certificate is trusted; a home folder; a clock that moves when told."""
import ctypes
import fcntl
import os
import pathlib
import pty
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import threading
import time

import origin as origins

PR_SET_CHILD_SUBREAPER = 36
SIOCSIFFLAGS, IFF_UP = 0x8914, 1


class Machine:
    """Made once, inside namespaces of its own (`unshare --user --map-root-user --net --mount`)."""

    def __init__(self, scratch, programs, hosts):
        self.scratch = pathlib.Path(scratch).resolve()
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        # A detached refresh becomes a child of this process, so that its end can be waited for.
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.raise_loopback()
        self.name_hosts(hosts)
        certificate, key = self.make_certificate()
        self.programs = self.scratch / "bin"
        self.programs.mkdir()
        for name, program in programs.items():
            (self.programs / name).symlink_to(pathlib.Path(program).resolve())
        self.clock = self.scratch / "clock"
        self.shim = self.scratch / "clock.so"
        source = pathlib.Path(__file__).with_name("clock.c")
        subprocess.run(["clang", "-O1", "-shared", "-fPIC", "-o", self.shim, source], check=True)
        self.ahead = 0
        self.set_clock(0)
        self.origin = origins.Origin(certificate, key, self.now)
        self.home = None

    # The machine

    def raise_loopback(self):
        import socket
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))

    def mount_over(self, source, target):
        subprocess.run(["mount", "--bind", source, target], check=True)

    def name_hosts(self, hosts):
        file = self.scratch / "hosts"
        file.write_text("127.0.0.1 localhost\n" + "".join(f"127.0.0.1 {host}\n" for host in sorted(hosts)))
        self.mount_over(file, "/etc/hosts")

    def make_certificate(self):
        """A certificate for every name under example.com, which the system's store of this machine trusts."""
        folder = self.scratch / "certificates"
        folder.mkdir()
        key, certificate = self.scratch / "origin.key", folder / "origin.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
             "-days", "3650", "-subj", "/CN=example.com", "-addext",
             "subjectAltName=DNS:example.com,DNS:*.example.com", "-keyout", key, "-out", certificate],
            check=True, capture_output=True)
        shutil.copy(certificate, folder / "ca-certificates.crt")
        subprocess.run(["openssl", "rehash", folder], check=True, capture_output=True)
        self.mount_over(folder, "/etc/ssl/certs")
        return certificate, key

    def now(self):
        return time.time() + self.ahead

    def set_clock(self, seconds):
        self.ahead = seconds
        with open(self.clock, "r+b" if self.clock.exists() else "wb") as file:
            file.write(struct.pack("q", int(seconds * 1_000_000_000)))

    def pass_time(self, seconds):
        self.set_clock(self.ahead + seconds)

    # A reader's home

    def new_home(self, files):
        """An empty home, nothing stored, everything as at the beginning."""
        if self.home:
            shutil.rmtree(self.home)
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="home-", dir=self.scratch))
        for name, content in files.items():
            (self.home / name).write_text(content)
        self.origin.stop()
        self.origin.gate.set()
        self.origin.reset()
        self.set_clock(0)

    def environment(self):
        return {
            "HOME": str(self.home), "PATH": f"{self.programs}:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "xterm",
            "NO_COLOR": "1", "LD_PRELOAD": str(self.shim), "DOCUMENT_CLOCK": str(self.clock), "USER": "reader",
        }

    def start(self, script, terminal=False):
        return Run(self, script, terminal)

    def run(self, script, terminal=False):
        run = self.start(script, terminal)
        run.finish()
        return run

    def wait_for_orphans(self):
        """Until every process that a block has left behind has ended."""
        def have_ended():
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
                return False
            except ChildProcessError:
                return True
        if not self.wait_until(have_ended, 60):
            raise RuntimeError("a process that a block has left behind does not end")

    @staticmethod
    def wait_until(holds, seconds):
        """Whether something holds, looking often for as long as that."""
        pause, end = threading.Event(), time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                return False
            pause.wait(0.005)
        return True

    def wait_until_idle(self, run):
        """Until all processes of a run have been seen waiting three times on end, with nothing in any connection."""
        seen = 0

        def is_idle():
            nonlocal seen
            seen = seen + 1 if self.is_waiting(run.child.pid) else 0
            return seen == 3
        self.wait_until(is_idle, 20)

    @staticmethod
    def is_waiting(session):
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.getsid(int(process.name)) != session:
                    continue
                states = [(task / "stat").read_text().rpartition(")")[2].split()[0] for task in (process / "task").iterdir()]
            except OSError:  # It has just ended.
                return False
            if any(state in "RD" for state in states):
                return False
        # Columns: number, local and remote address, state, bytes queued to send and to receive, each in hexadecimal.
        connections = [line.split() for line in open("/proc/net/tcp").read().splitlines()[1:]]
        return all(columns[4] == "00000000:00000000" for columns in connections if columns[3] == "01")


class Run:
    """A script under way: what it has printed and said, and its status once it has ended."""

    def __init__(self, machine, script, terminal):
        self.machine, self.output, self.errors, self.status = machine, b"", b"", None
        common = dict(cwd=machine.home, env=machine.environment(), start_new_session=True)
        # `$0` and options as in a script that a reader saves; the status is the last command's.
        words = ["/bin/bash", "-c", script]
        if terminal:
            ours, theirs = pty.openpty()
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
            self.child = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, **common)
            os.close(theirs)
            self.readers = [self.collect("output", ours)]
        else:
            self.child = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **common)
            self.readers = [
                self.collect("output", self.child.stdout.fileno()), self.collect("errors", self.child.stderr.fileno()),
            ]

    def collect(self, name, descriptor):
        def read():
            while True:
                try:
                    piece = os.read(descriptor, 65536)
                except OSError:  # A terminal whose last user has gone.
                    piece = b""
                if not piece:
                    return
                setattr(self, name, getattr(self, name) + piece)
        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        return thread

    def finish(self, seconds=60):
        try:
            self.status = self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(self.child.pid, signal.SIGKILL)
            self.status = self.child.wait()
            self.errors += b"(stopped by the check: it did not end within a minute)\n"
        for reader in self.readers:
            reader.join(10)
        self.output = re.sub(rb"\r\n", b"\n", self.output)

    def interrupt(self):
        os.killpg(self.child.pid, signal.SIGINT)
        self.finish()
