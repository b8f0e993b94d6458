"""Building, serving, running and measuring: what the scenes share. Standard library only."""

import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.request

root = pathlib.Path(__file__).resolve().parents[2]
build = root / "Benchmarks" / ".build"
contenders = build / "contenders"


# A core for those who are measured and one for those who serve them: ratios otherwise change up to fourfold with where
# the kernel puts two processes.
cores = sorted(os.sched_getaffinity(0))
pinned = True


def measured_core():
    if pinned:
        os.sched_setaffinity(0, {cores[-1]})


def serving_core():
    os.sched_setaffinity(0, {cores[0]})


def say(*words):
    print(*words, flush=True, file=__import__("sys").stderr)


def have(program):
    return shutil.which(program) is not None or os.path.exists(f"/usr/sbin/{program}")


def output(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def build_all():
    """Builds what is measured; returns the path of the shipped cachefetch."""
    contenders.mkdir(parents=True, exist_ok=True)
    for source, libraries in {"spawn_timer": [], "raw_sqlite": ["-lsqlite3"], "raw_curl": ["-lsqlite3", "-lcurl"], "raw_multi": ["-lsqlite3", "-lcurl"], "raw_redis": ["-lcurl"]}.items():
        target = contenders / source
        subprocess.run(["cc", "-O2", "-Wall", "-o", target, root / f"Benchmarks/contenders/{source}.c", *libraries], check=True)
    output(root / "scripts/build-release", "bench")
    # Foundation's network stack cannot be had with these flags; built as its users build it.
    subprocess.run(
        ["swift", "build", "--package-path", root / "Benchmarks", "--scratch-path", build / "peer", "-c", "release",
         "--product", "urlsession-peer"], check=True, stdout=2)
    return output(root / "scripts/build-release", "cachefetch").strip()


def python_peers():
    """A virtual environment with the Python contenders, or None and the reason."""
    python = build / "venv/bin/python"
    wanted = root / "Benchmarks/peers/requirements.txt"
    stamp = build / "venv/installed"
    if not stamp.exists() or stamp.read_text() != wanted.read_text():
        try:
            subprocess.run(["python3", "-m", "venv", build / "venv"], check=True, stdout=2)
            subprocess.run([python, "-m", "pip", "install", "-q", "-r", wanted], check=True, stdout=2)
        except (OSError, subprocess.CalledProcessError) as error:
            return None, f"the Python peers could not be installed ({error})"
        stamp.write_text(wanted.read_text())
    return str(python), None


class Servers:
    """nginx with files of every size and with proxy_cache before it, Varnish where installed; all on loopback."""

    sizes = {"1k": 1_000, "10k": 10_000, "100k": 100_000, "10m": 10_000_000}

    def __init__(self, folder, small=1_000):
        self.folder = pathlib.Path(folder)
        self.port, self.proxy_port, self.varnish_port = free_port(), free_port(), free_port()
        files = self.folder / "files"
        files.mkdir()
        for name, size in self.sizes.items():
            (files / name).write_bytes((b"0123456789abcde\n" * (size // 16 + 1))[:size])
        (files / "small").mkdir()
        for number in range(small):
            (files / "small" / str(number)).write_bytes(f'{{"item": {number}}}\n'.encode() * 50)
        self.processes = []
        self.start_nginx()
        self.start_varnish()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start_nginx(self):
        f = self.folder
        (f / "nginx.conf").write_text(f"""
            daemon off; worker_processes 1; pid {f}/nginx.pid; error_log {f}/error.log;
            {"user root;" if os.geteuid() == 0 else ""}
            events {{ worker_connections 4096; }}
            http {{
              access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000;
              client_body_temp_path {f}/t1; proxy_temp_path {f}/t2; fastcgi_temp_path {f}/t3;
              uwsgi_temp_path {f}/t4; scgi_temp_path {f}/t5; default_type text/plain;
              proxy_cache_path {f}/cache keys_zone=c:10m;
              server {{
                listen 127.0.0.1:{self.port} backlog=4096;
                location / {{ root {f}/files; add_header Cache-Control max-age=3600; }}
                location /changed/ {{ alias {f}/files/; etag off; if_modified_since off; }}
              }}
              server {{
                listen 127.0.0.1:{self.proxy_port};
                location / {{ proxy_pass http://127.0.0.1:{self.port}; proxy_cache c; proxy_cache_valid 200 1h; }}
              }}
            }}
            """)
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        self.processes.append(subprocess.Popen([program, "-p", f, "-c", f / "nginx.conf"], stderr=subprocess.DEVNULL, preexec_fn=serving_core))
        await_url(f"{self.url}/1k")

    def start_varnish(self):
        self.has_varnish = have("varnishd")
        if not self.has_varnish:
            return
        self.processes.append(subprocess.Popen(
            ["varnishd", "-F", "-j", "none", "-a", f"127.0.0.1:{self.varnish_port}", "-b", f"127.0.0.1:{self.port}",
             "-n", self.folder / "varnish", "-s", "malloc,256m", "-T", "none"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=serving_core))
        await_url(f"http://127.0.0.1:{self.varnish_port}/1k")

    def stop(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()


def await_url(url, seconds=20):
    end = time.monotonic() + seconds
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).read()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


class Sample:
    """One contender's measurements in one scene."""

    def __init__(self, name, durable=""):
        self.name, self.durable = name, durable
        self.values, self.rounds, self.extra = [], [], {}
        # Of all that a program wrote, one for each content seen.
        self.digests = set()

    def add_round(self, values):
        self.values += values
        self.rounds.append(statistics.median(values))

    @property
    def p50(self):
        return statistics.median(self.values)

    def quantile(self, share):
        ordered = sorted(self.values)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def alternate(rounds, runs):
    """Runs every (Sample, command) once a round, the order turned by one each time. The command prints nanoseconds."""
    for number in range(rounds):
        turn = number % len(runs)
        for sample, command in runs[turn:] + runs[:turn]:
            done = subprocess.run([str(word) for word in command], capture_output=True, text=True, preexec_fn=measured_core)
            if done.returncode != 0:
                raise SystemExit(f"{sample.name}: {' '.join(map(str, command))}\n{done.stderr}")
            sample.add_round([int(line) for line in done.stdout.split()])
    return [sample for sample, _ in runs]


def spawn_alternate(rounds, runs, environment=None, inside=()):
    """Measures whole processes from the outside; values are the time to the first byte. `inside` is a command that starts
    the measuring program in a place of its own."""
    listing = "".join("\t".join([str(index), *map(str, command)]) + "\n" for index, (_, command) in enumerate(runs))
    done = subprocess.run([*inside, contenders / "spawn_timer", str(rounds)], input=listing, capture_output=True, text=True,
                          preexec_fn=measured_core, env={**os.environ, **(environment or {})})
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    ends = {}
    for line in done.stdout.splitlines():
        index, first, end, size, cpu, peak, status, digest = map(int, line.split("\t"))
        sample = runs[index][0]
        if status != 0:
            raise SystemExit(f"{sample.name}: exit status {status}: {' '.join(map(str, runs[index][1]))}")
        sample.values.append(first)
        sample.digests.add(digest)
        rest = ends.setdefault(index, {"end": [], "bytes": [], "cpu": [], "peak": []})
        rest["end"].append(end), rest["bytes"].append(size), rest["cpu"].append(cpu), rest["peak"].append(peak)
    for index, rest in ends.items():
        runs[index][0].extra = {key: statistics.median(values) for key, values in rest.items()}
        runs[index][0].extra["peak"] = max(rest["peak"])
    return [sample for sample, _ in runs]


def instructions(command):
    """How many a whole run takes, as callgrind counts them."""
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *map(str, command)], capture_output=True, text=True)
    found = re.search(r"Collected *: *(\d+)", done.stderr)
    if done.returncode != 0 or not found:
        raise SystemExit(done.stderr)
    return int(found[1])


def scratch():
    # On a real disk: a store in memory would flatter everyone.
    folder = build / "scratch"
    folder.mkdir(parents=True, exist_ok=True)
    return tempfile.mkdtemp(dir=folder)
