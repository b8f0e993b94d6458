"""usage: python3 test_cachefetch.py     with cachefetch on the PATH"""
import http.server
import os
import subprocess
import tempfile
import threading
import unittest

import cachefetch


class Handler(http.server.BaseHTTPRequestHandler):
    body = b"first"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *words):
        pass


class GetTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.environ["CACHEFETCH_STORE"] = os.path.join(folder.name, "store.sqlite")
        Handler.body = b"first"
        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/news"

    def deliveries(self, *options):
        return [(delivery["delivery"], delivery.body) for delivery in cachefetch.get(self.url, *options)]

    def test_stored_then_fresh_then_failure(self):
        self.assertEqual(self.deliveries(), [("fresh", b"first")])
        Handler.body = b"\xff\x00second"
        self.assertEqual(self.deliveries(), [("stored", b"first"), ("fresh", b"\xff\x00second")])
        self.server.shutdown()
        self.server.server_close()
        self.assertEqual(self.deliveries("--retry", "0"), [("stored", b"\xff\x00second"), ("failure", b"")])

    def test_leaving_early_ends_the_command(self):
        self.deliveries()
        for delivery in cachefetch.get(self.url):
            self.assertEqual(delivery["delivery"], "stored")
            break
        self.server.shutdown()
        self.server.server_close()

    def test_a_wrong_option_is_raised(self):
        with self.assertRaises(subprocess.CalledProcessError) as raised:
            self.deliveries("--nonsense")
        self.assertEqual(raised.exception.returncode, 64)
        self.assertIn("--nonsense", raised.exception.stderr)
        self.server.shutdown()
        self.server.server_close()

    def test_a_process_that_serves_is_asked(self):
        store = os.environ["CACHEFETCH_STORE"]
        with subprocess.Popen(["cachefetch", "serve", "-v"], stderr=subprocess.PIPE) as process:
            self.addCleanup(process.kill)
            while b"listening" not in process.stderr.readline():
                pass
            self.assertEqual([delivery.body for delivery in cachefetch.ask(store, self.url)], [b"first"])
            stored = list(cachefetch.ask(store, self.url, max_age="1h"))
            self.assertEqual([delivery["delivery"] for delivery in stored], ["stored"])
            with self.assertRaisesRegex(ValueError, "nonsense"):
                list(cachefetch.ask(store, self.url, nonsense=1))
            self.server.shutdown()
            self.server.server_close()
            process.terminate()
            process.stderr.read()


if __name__ == "__main__":
    unittest.main()
