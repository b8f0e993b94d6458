"""hishel (httpx) with its SQLite storage: one process, one URL; many reads in one process; or a list.

usage: hishel_peer.py STORE URL [COUNT]
       hishel_peer.py STORE --list FILE WIDTH
Without COUNT prints the body. With COUNT prints the time of each stored read in nanoseconds. With a list everything in it is
fetched and stored, so many at a time.
"""
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from hishel import SqliteStorage
from hishel.httpx import CacheClient

store, url = sys.argv[1], sys.argv[2]
client = CacheClient(storage=SqliteStorage(database_path=store))
if url == "--list":
    with ThreadPoolExecutor(int(sys.argv[4])) as pool:
        urls = open(sys.argv[3]).read().split()
        assert all(answer.status_code == 200 for answer in pool.map(client.get, urls))
elif len(sys.argv) == 3:
    sys.stdout.buffer.write(client.get(url).content)
else:
    client.get(url)
    for _ in range(int(sys.argv[3])):
        start = time.perf_counter_ns()
        response = client.get(url)
        len(response.content)
        print(time.perf_counter_ns() - start)
        assert response.extensions["caching"]["from_cache"]
