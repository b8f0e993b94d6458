"""hishel (httpx) with its SQLite storage: one process, one URL; or many reads in one process.

usage: hishel_peer.py STORE URL [COUNT]
Without COUNT prints the body. With COUNT prints the time of each stored read in nanoseconds.
"""
import sys
import time

from hishel import SqliteStorage
from hishel.httpx import CacheClient

store, url = sys.argv[1], sys.argv[2]
client = CacheClient(storage=SqliteStorage(database_path=store))
if len(sys.argv) == 3:
    sys.stdout.buffer.write(client.get(url).content)
else:
    client.get(url)
    for _ in range(int(sys.argv[3])):
        start = time.perf_counter_ns()
        response = client.get(url)
        len(response.content)
        print(time.perf_counter_ns() - start)
        assert response.extensions["caching"]["from_cache"]
