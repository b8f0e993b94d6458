internal import CacheStore

/// The held prefetches, and those whose deliveries may still be read.
struct HeldPrefetches {
  private struct Weak { weak let prefetch: (any AnyPrefetch)? }

  private(set) var held: [any AnyPrefetch] = []
  /// The committed prefetches whose deliveries a caller may still read.
  private var wanted: [Weak] = []
  /// The time of the last exchange that failed for lack of a network, in nanoseconds since boot.
  var failedAt: Int64?
  private var isClosed = false

  /// Holds a prefetch. It replaces the one of its group, and the oldest if more than `limit` are held.
  /// - Returns: The replaced prefetches, to be released.
  mutating func hold(_ prefetch: any AnyPrefetch, limit: Int) -> [any AnyPrefetch] {
    guard !isClosed else { return [prefetch] }
    var replaced = held.filter { prefetch.group != nil && $0.group == prefetch.group }
    held.removeAll { held in replaced.contains { $0 === held } }
    while held.count >= limit { replaced.append(held.removeFirst()) }
    held.append(prefetch)
    return replaced
  }

  mutating func remove(_ prefetch: any AnyPrefetch) { held.removeAll { $0 === prefetch } }

  /// Records a commit: the prefetch is no longer held but still ends with its account.
  /// - Returns: All committed prefetches, to be released outside the lock.
  mutating func want(_ prefetch: any AnyPrefetch) -> [any AnyPrefetch] {
    remove(prefetch)
    let alive = wanted.compactMap(\.prefetch) + [prefetch]
    wanted = alive.map { Weak(prefetch: $0) }
    return alive
  }

  /// All held or committed prefetches.
  var all: [any AnyPrefetch] { held + wanted.compactMap(\.prefetch) }

  /// Stops holding prefetches, since a held prefetch keeps its service alive.
  /// - Returns: The held prefetches, to be released.
  mutating func close() -> [any AnyPrefetch] {
    isClosed = true
    return held
  }
}
