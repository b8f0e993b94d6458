"""requests-cache with its SQLite backend: one process, one URL; many reads in one process; or a list.

usage: requests_cache_peer.py STORE URL [COUNT]
       requests_cache_peer.py STORE --list FILE WIDTH
Without COUNT prints the body. With COUNT prints the time of each stored read in nanoseconds. With a list everything in it is
fetched and stored, so many at a time.
"""
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from requests_cache import CachedSession

store, url = sys.argv[1], sys.argv[2]
session = CachedSession(store, backend="sqlite", expire_after=-1)
if url == "--list":
    with ThreadPoolExecutor(int(sys.argv[4])) as pool:
        urls = open(sys.argv[3]).read().split()
        assert all(answer.status_code == 200 for answer in pool.map(session.get, urls))
elif len(sys.argv) == 3:
    sys.stdout.buffer.write(session.get(url).content)
else:
    session.get(url)
    for _ in range(int(sys.argv[3])):
        start = time.perf_counter_ns()
        response = session.get(url)
        len(response.content)
        print(time.perf_counter_ns() - start)
        assert response.from_cache
