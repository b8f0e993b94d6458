"""requests-cache with its SQLite backend: one process, one URL; or many reads in one process.

usage: requests_cache_peer.py STORE URL [COUNT]
Without COUNT prints the body. With COUNT prints the time of each stored read in nanoseconds.
"""
import sys
import time

from requests_cache import CachedSession

store, url = sys.argv[1], sys.argv[2]
session = CachedSession(store, backend="sqlite", expire_after=-1)
if len(sys.argv) == 3:
    sys.stdout.buffer.write(session.get(url).content)
else:
    session.get(url)
    for _ in range(int(sys.argv[3])):
        start = time.perf_counter_ns()
        response = session.get(url)
        len(response.content)
        print(time.perf_counter_ns() - start)
        assert response.from_cache
