-- cachefetch store: one SQLite file, and here is all of it, as the newest migration leaves it (Tables/Migrations.swift).
-- *_at_ms: milliseconds since 1970-01-01 UTC. *_ms: durations. *_ns: nanoseconds since boot. *_bytes: sizes.
-- auto_vacuum must come before the first table. At every open: journal_mode=WAL, synchronous=NORMAL,
-- foreign_keys=ON, temp_store=MEMORY, trusted_schema=OFF, cell_size_check=ON. Sign-out VACUUMs: measured on 3.40.1,
-- nothing less removes every byte (secure_delete leaves copies of index cells in the gaps of rebalanced pages).
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA application_id = 0x43464348;      -- "CFCH"
PRAGMA user_version = 4;               -- raised with each change to a statement below, and by a migration

-- Whose rows. Sign-out deletes the account's row and everything below goes with it; the name gets a new id when
-- next used. An exchange carries the id it began with, so what comes late for a signed-out account fails its
-- foreign key and is neither stored nor delivered: the id is the generation.
CREATE TABLE account (
  id    INTEGER PRIMARY KEY AUTOINCREMENT,       -- never reused; begins at a random multiple of 2^24, the store's own
  name  TEXT NOT NULL UNIQUE                     -- '' none; the caller's name; or 'auto:' and a keyed digest of the credentials
) STRICT;

-- Proof of which digest key the names of 'auto:' accounts were made with: if STORE.key is another one, nothing leads
-- to their rows any more, and `doctor` says so.
CREATE TABLE digest_key (
  id     INTEGER PRIMARY KEY CHECK (id = 1),
  proof  TEXT NOT NULL                           -- the keyed digest of the word 'cachefetch'
) STRICT;

-- http_version is '0' where the program itself stored the response, without an exchange.
-- The last good response to each request (good = 1) and, beside it, what only the http policy may reuse (good = 0).
CREATE TABLE last_request (
  id               INTEGER PRIMARY KEY,
  account_id       INTEGER NOT NULL REFERENCES account ON DELETE CASCADE,
  target           TEXT NOT NULL,                -- normalised URL, no user-info, no fragment, secret query values as '~' and a keyed digest; or 'key:' and the caller's own key
  method           TEXT NOT NULL,                -- GET (HEAD is answered from it), or that of a request marked as a read
  extra            TEXT NOT NULL DEFAULT '',     -- what else tells requests apart, 'name=LENGTH:value' or 'name': keyed digest of the body and its description, the caller's own Host, over https insecure and authorities, unix socket, --resolve, --no-location
  good             INTEGER NOT NULL CHECK (good IN (0, 1)),  -- 1: any 2xx but 206
  variant          TEXT NOT NULL DEFAULT '',     -- the request fields Vary names, one 'name: value' a line, secret values as keyed digests
  vary             TEXT NOT NULL DEFAULT '',     -- their names, lower case, sorted, by comma; '*' for Vary: *
  started_boot     TEXT NOT NULL,                -- the boot and the instant since it at which the exchange began that
  started_ns       INTEGER NOT NULL,             --   wrote the row: within a boot a later start is never replaced by an earlier one; 'import': it came with a file, and no exchange confirmed it
  response_url     TEXT,                         -- who answered, where redirects were followed; the only URL the validator is sent to
  http_version     TEXT NOT NULL,                -- '1.0', '1.1', '2'
  status           INTEGER NOT NULL,
  reason           TEXT NOT NULL DEFAULT '',
  fields           BLOB NOT NULL,                -- 'Name: value' CRLF as received, in order; without hop-by-hop fields, Set-Cookie and secret fields
  decoded          INTEGER NOT NULL CHECK (decoded IN (0, 1)),  -- 1: the body was freed of the coding that Content-Encoding still names
  requested_at_ms  INTEGER NOT NULL,             -- request_time and
  received_at_ms   INTEGER NOT NULL,             --   response_time of RFC 9111 section 4.2.3, of the newest exchange, 304 included
  changed_at_ms    INTEGER NOT NULL,             -- when the body last became another
  exchange_ms      INTEGER NOT NULL,             -- what the exchange took: the time a stored delivery saves
  invalid          INTEGER NOT NULL DEFAULT 0,   -- 1 after an unsafe request to the target (section 4.4): http must validate
  body_id          INTEGER NOT NULL,             -- row of body
  body_bytes       INTEGER NOT NULL,
  checksum         INTEGER NOT NULL,             -- XXH3-64 of all the above, the account's name and the body's checksum
  pinned           INTEGER NOT NULL DEFAULT 0,   -- 1: never evicted
  UNIQUE (account_id, target, method, extra, good, variant)
) STRICT;

-- A body is a run of chunks. One of a single chunk is rewritten in place; a longer one arrives under a new id and
-- is seen when the row is switched to it, so that a reader under way keeps the old one. The ids begin at a random
-- multiple of 2^18, the store's own: what is still at work on a store that was removed meets no body of the next one.
-- A body that is handed over whole has 0 as partial_bytes while it is written: it makes its room itself, while no row
-- is evicted for one that arrives.
CREATE TABLE body (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,  -- never reused: a slow reader cannot meet another body's chunks
  account_id      INTEGER NOT NULL REFERENCES account ON DELETE CASCADE,
  checksum        INTEGER,                       -- XXH3-64 of the chunks' checksums; 0 for a single one, whose own says it; NULL while arriving or cut off
  released_at_ms  INTEGER,                       -- when its row let go of it: collected with the next writes, once nobody reads it; 0: at once
  partial_target  TEXT,                          -- of a cut-off download: whose it is,
  partial_etag    TEXT,                          --   its strong validator for If-Range,
  partial_bytes   INTEGER,                       --   and the length of the whole
  begun_at_ms     INTEGER NOT NULL               -- when its first byte came
) STRICT;
CREATE INDEX body_released ON body (released_at_ms) WHERE released_at_ms IS NOT NULL;
CREATE INDEX body_unfinished ON body (account_id, partial_target) WHERE checksum IS NULL;

-- A chunk's place is its identifier: body * 1048576 + number, from 0. So a body is one run of rows, found without an
-- index of its own, and a look-up reads a page or two less.
CREATE TABLE chunk (
  id        INTEGER PRIMARY KEY,
  checksum  INTEGER NOT NULL,                    -- XXH3-64 of bytes, seeded with body and number: holds before a byte is handed on
  bytes     BLOB NOT NULL
) STRICT;
CREATE TRIGGER body_gone AFTER DELETE ON body BEGIN
  DELETE FROM chunk WHERE id >= OLD.id << 20 AND id < (OLD.id + 1) << 20;
END;

-- What was removed or invalidated, whether or not a row was there, and when in the order of exchanges: an exchange that
-- began before must not store it. The URL itself is not kept. Collected after a day of the clock since boot; an
-- exchange that lasts longer is not seen.
CREATE TABLE removal (
  account_id     INTEGER NOT NULL REFERENCES account ON DELETE CASCADE,
  target_hash    INTEGER NOT NULL,               -- XXH3-64 of the target, or of what names many: '*', '#' and a tag, an origin, '//' and a host; 0 where there is one of those
  started_boot   TEXT NOT NULL,
  started_ns     INTEGER NOT NULL,
  removed_at_ms  INTEGER NOT NULL,
  PRIMARY KEY (account_id, target_hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX removal_oldest ON removal (removed_at_ms);

-- When a row was last delivered. Apart from last_request and written in batches, so that a read writes nothing.
CREATE TABLE last_use (
  request_id  INTEGER PRIMARY KEY REFERENCES last_request ON DELETE CASCADE,
  used_at_ms  INTEGER NOT NULL
) STRICT;
CREATE INDEX last_use_oldest ON last_use (used_at_ms);

CREATE TABLE tag (
  name        TEXT NOT NULL,
  request_id  INTEGER NOT NULL REFERENCES last_request ON DELETE CASCADE,
  PRIMARY KEY (name, request_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX tag_of_request ON tag (request_id);

-- What else a cut-off download belongs to, and the head it came with: the rest is asked of the same URL by the same
-- request alone, and believed only with the same strong validator.
CREATE TABLE partial (
  body_id  INTEGER PRIMARY KEY REFERENCES body ON DELETE CASCADE,
  extra    TEXT NOT NULL,                        -- as in last_request; the method is GET
  variant  TEXT NOT NULL,                        -- as in last_request
  url      TEXT NOT NULL,                        -- who sent it, then a space and how it was reached, as in pause
  fields   BLOB NOT NULL,                        -- as in last_request
  checksum INTEGER NOT NULL                      -- XXH3-64 of all the above, and of the body's account, target, validator and length
) STRICT;

-- Who asked to be left alone (Retry-After), for every process on the store: heard at an instant since a boot, for so
-- long, an hour at most. No wall clock decides; another boot ends it.
CREATE TABLE pause (
  account_id  INTEGER NOT NULL REFERENCES account ON DELETE CASCADE,
  responder   TEXT NOT NULL,                     -- scheme://host[:port] of who said it, then a space and how it was reached: as in extra, with what is trusted over https and the proxy in force
  heard_boot  TEXT NOT NULL,
  heard_ns    INTEGER NOT NULL,
  pause_ms    INTEGER NOT NULL,
  PRIMARY KEY (account_id, responder)
) STRICT, WITHOUT ROWID;

-- Counts for `stats`, added up in memory and written with the last_use batch.
CREATE TABLE usage (
  account_id   INTEGER NOT NULL REFERENCES account ON DELETE CASCADE,
  host         TEXT NOT NULL,
  stored       INTEGER NOT NULL DEFAULT 0,       -- deliveries, by kind
  fresh        INTEGER NOT NULL DEFAULT 0,
  unchanged    INTEGER NOT NULL DEFAULT 0,
  failed       INTEGER NOT NULL DEFAULT 0,
  saved_bytes  INTEGER NOT NULL DEFAULT 0,
  saved_ms     INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, host)
) STRICT, WITHOUT ROWID;

-- Counts that belong to no account, written with those above.
CREATE TABLE event_count (
  name   TEXT NOT NULL PRIMARY KEY,              -- 'evicted', or 'failed:' and the kind of the failure
  count  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The store's own limits, which win over those that a program brings along; of what is NULL, or without the row, the
-- program's hold. Every process reads them anew once another has written.
CREATE TABLE store_limit (
  id             INTEGER PRIMARY KEY CHECK (id = 1),
  maximum_bytes  INTEGER,                        -- the size of the database file above which the least recently used rows go
  maximum_rows   INTEGER,                        -- the number of rows above which they go
  maximum_ms     INTEGER,                        -- how long ago a row may have been received
  checked_id     INTEGER NOT NULL DEFAULT 0      -- up to which row that has been looked at; 0 once all have been
) STRICT;
