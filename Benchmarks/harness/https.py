"""nginx over TLS, with a certificate of an authority that the system trusts, in a mount namespace of its own."""

import os
import pathlib
import shutil
import subprocess
import time

from tools import free_port, serving_core

system = pathlib.Path("/etc/ssl/certs")


class TrustedPlace:
    def __init__(self, folder, size):
        self.folder = folder
        folder.mkdir()
        self.certificates()
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}/body"
        (folder / "files").mkdir()
        (folder / "files/body").write_bytes((b"0123456789abcde\n" * (size // 16 + 1))[:size])
        (folder / "nginx.conf").write_text(f"""
            daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;
            {"user root;" if os.geteuid() == 0 else ""}
            events {{ worker_connections 1024; }}
            http {{
              access_log off; default_type text/plain;
              client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
              uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
              server {{
                listen 127.0.0.1:{self.port} ssl http2;
                ssl_certificate {folder}/site.pem; ssl_certificate_key {folder}/site.key;
                location / {{ root {folder}/files; etag off; if_modified_since off; }}
              }}
            }}
            """)
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        self.server = subprocess.Popen([program, "-p", folder, "-c", folder / "nginx.conf"], stderr=subprocess.DEVNULL, preexec_fn=serving_core)
        # The contenders are measured where the system's folder is a copy that has our authority too.
        self.inside = ["unshare", "-rm", "sh", "-c", f'mount --bind {folder}/certs {system} && exec "$@"', "sh"]
        self.await_answer()

    def certificates(self):
        f = self.folder
        shutil.copytree(system, f / "certs", symlinks=True)
        make = lambda *words: subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        make("req", "-x509", *key, "-keyout", f / "ca.key", "-out", f / "certs/measured.pem", "-days", "2", "-subj", "/CN=Measured authority")
        make("req", *key, "-keyout", f / "site.key", "-out", f / "site.csr", "-subj", "/CN=127.0.0.1")
        (f / "site.ext").write_text("subjectAltName=IP:127.0.0.1\n")
        make("x509", "-req", "-in", f / "site.csr", "-CA", f / "certs/measured.pem", "-CAkey", f / "ca.key", "-set_serial", "2",
             "-days", "2", "-extfile", f / "site.ext", "-out", f / "site.pem")
        make("rehash", f / "certs")
        with open(f / "certs/ca-certificates.crt", "a") as bundle:
            bundle.write((f / "certs/measured.pem").read_text())

    def await_answer(self, seconds=20):
        end = time.monotonic() + seconds
        while subprocess.run([*self.inside, "curl", "-s", "-o", "/dev/null", self.url]).returncode != 0:
            if time.monotonic() > end:
                raise SystemExit("nginx does not answer over TLS, or its authority is not trusted")
            time.sleep(0.02)

    def stop(self):
        self.server.terminate()
        self.server.wait()
