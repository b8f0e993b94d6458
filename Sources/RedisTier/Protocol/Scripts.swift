/// The scripts that run in the server, each whole or not at all.
///
/// They use only commands that the user of `docs/tier.md` may run. Numbers are sums of microseconds below
/// 2^53, which Lua's numbers hold exactly; they are returned as text. The server names a script by the SHA-1
/// of its text; a test compares the digests.
enum Scripts {
  struct Script: Sendable {
    let text: String
    /// The name of the script for `EVALSHA`.
    let digest: [UInt8]

    init(text: String, digest: String) { (self.text, self.digest) = (text, Array(digest.utf8)) }
  }

  private static let prelude = """
    local function number(text) return tonumber(text or '0') or 0 end
    local time = redis.call('TIME')
    local now = time[1] * 1000000 + time[2]
    local newest = math.max(number(redis.call('HGET', KEYS[1], 't')), number(redis.call('GET', KEYS[2])))
    local ticket = string.format('%.0f', math.max(now, newest + 1))
    now = string.format('%.0f', now)

    """

  /// Shared by `invalidate` and `commit`: handles bodies stored outside the row.
  private static let bodies = """
    local function each(visit)
      for name, of, chunks in string.gmatch(redis.call('HGET', KEYS[1], 'i') or '', '(%S+):(%d+):(%d+%S*)') do
        visit(name, of, chunks)
      end
    end
    local function retire(of, chunks, life)
      local count, mark = string.match(chunks, '(%d+)(.*)')
      for n = 0, tonumber(count) - 1 do
        redis.call('PEXPIRE', KEYS[1] .. ':b:' .. of .. mark .. ':' .. n, life)
      end
    end

    """

  /// KEYS row, tombstone. ARGV lifetime of the tombstone, of a removed body, both in ms. Removes the rows,
  /// and invalidates every ticket up to now.
  static let invalidate = Script(
    text: prelude + bodies + """
      redis.call('SET', KEYS[2], ticket, 'PX', ARGV[1])
      each(function(name, of, chunks) retire(of, chunks, ARGV[2]) end)
      redis.call('UNLINK', KEYS[1])
      return { now, ticket }

      """, digest: "d0010b40389b759123613338e881782d49f17485")

  /// KEYS row, tombstone. ARGV variant, ticket, lifetime in ms, sealed head, number of chunks with the mark
  /// of their names behind it, sealed names in Vary (empty: as they are), the most variants, lifetime of a
  /// replaced body in ms.
  ///
  /// Field `i` lists the variants, each with its ticket, number of chunks and mark.
  ///
  /// Answers 1 where the row is stored, even by an earlier run of the same command, whose reply was lost: no two
  /// sealed heads have the same bytes. 2 where another row has the same ticket, so that with the same body chunks of
  /// that name are its own. 0 where the row is newer, or was removed since.
  static let commit = Script(
    text: prelude + bodies + """
      local variant, ticket, most = ARGV[1], number(ARGV[2]), tonumber(ARGV[7])
      local held = number(redis.call('HGET', KEYS[1], variant .. '.t'))
      if ticket == held then
        return { now, redis.call('HGET', KEYS[1], variant) == ARGV[4] and '1' or '2' }
      end
      if ticket < held or ticket <= number(redis.call('GET', KEYS[2])) then return { now, '0' } end
      local rows = {}
      each(function(name, of, chunks)
        if name == variant then retire(of, chunks, ARGV[8]) else rows[#rows + 1] = { name, of, chunks } end
      end)
      table.sort(rows, function(a, b) return number(a[2]) > number(b[2]) end)
      if #rows >= most then
        local kept = {}
        for n = 1, most - 1 do
          kept[#kept + 1] = rows[n][1]
          kept[#kept + 1] = redis.call('HGET', KEYS[1], rows[n][1]) or ''
          kept[#kept + 1] = rows[n][1] .. '.t'
          kept[#kept + 1] = rows[n][2]
        end
        for n = #rows, most, -1 do
          retire(rows[n][2], rows[n][3], ARGV[8])
          rows[n] = nil
        end
        local vary = redis.call('HGET', KEYS[1], 'y')
        if vary then kept[#kept + 1] = 'y'; kept[#kept + 1] = vary end
        redis.call('DEL', KEYS[1])
        redis.call('HSET', KEYS[1], unpack(kept))
      end
      rows[#rows + 1] = { variant, ARGV[2], ARGV[5] }
      local index = {}
      for n, row in ipairs(rows) do index[n] = table.concat(row, ':') end
      redis.call('HSET', KEYS[1], variant, ARGV[4], variant .. '.t', ARGV[2], 'i', table.concat(index, ' '))
      redis.call('HSET', KEYS[1], 't', string.format('%.0f', math.max(newest, ticket)))
      if ARGV[6] ~= '' then redis.call('HSET', KEYS[1], 'y', ARGV[6]) end
      redis.call('PEXPIRE', KEYS[1], ARGV[3])
      return { now, '1' }

      """, digest: "7d89fa5e1470bb429697e127a3f9c050c267c19d")
}
