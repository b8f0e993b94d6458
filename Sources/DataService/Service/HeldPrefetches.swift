internal import CacheStore

/// The prefetches that are held, and what they have brought.
struct HeldPrefetches {
  private struct Weak { weak let prefetch: (any AnyPrefetch)? }

  private(set) var held: [any AnyPrefetch] = []
  /// Those that are wanted, and whose deliveries somebody may still take.
  private var wanted: [Weak] = []
  var counts = AnticipationCounts()
  /// When an exchange last failed for want of a network, in nanoseconds since boot.
  var failedAt: Int64?
  private var isClosed = false

  /// Holds one, in place of its group's, and of the oldest where there are more than `limit`.
  /// - Returns: Those that it replaces, to be released.
  mutating func hold(_ prefetch: any AnyPrefetch, limit: Int) -> [any AnyPrefetch] {
    guard !isClosed else { return [prefetch] }
    var replaced = held.filter { prefetch.group != nil && $0.group == prefetch.group }
    held.removeAll { held in replaced.contains { $0 === held } }
    while held.count >= limit { replaced.append(held.removeFirst()) }
    held.append(prefetch)
    return replaced
  }

  mutating func remove(_ prefetch: any AnyPrefetch) { held.removeAll { $0 === prefetch } }

  /// Notes that one is wanted: it is held no longer, and still ends with its account.
  /// - Returns: All that are wanted, to be dropped outside of the lock.
  mutating func want(_ prefetch: any AnyPrefetch) -> [any AnyPrefetch] {
    remove(prefetch)
    let alive = wanted.compactMap(\.prefetch) + [prefetch]
    wanted = alive.map { Weak(prefetch: $0) }
    return alive
  }

  /// Those that are held or wanted.
  var all: [any AnyPrefetch] { held + wanted.compactMap(\.prefetch) }

  /// Holds nothing from now on: a prefetch that is held keeps its service.
  /// - Returns: Those that were held, to be released.
  mutating func close() -> [any AnyPrefetch] {
    isClosed = true
    return held
  }
}
