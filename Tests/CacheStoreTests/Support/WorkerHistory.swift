import CacheStore
import PlatformFoundation
import TestSupport
import Testing

/// What a killed worker said it did, and what must therefore be in the store.
struct WorkerHistory {
  enum State: Hashable {
    case none
    case stored(version: Int64, count: Int)
  }

  /// What was confirmed last, for each key.
  var confirmed = [State](repeating: .none, count: 6)
  /// What was begun and not confirmed: it may or may not be there.
  var pending: [Int: State] = [:]
  var version: Int64 = 0
  var errors: [String] = []

  mutating func read(_ output: String) {
    for line in output.split(separator: "\n") {
      let words = line.split(separator: " ")
      guard words.count >= 3, let key = Int(words[1]), let version = Int64(words[2]) else {
        if words.first == "error" { errors.append(String(line)) }
        continue
      }
      self.version = max(self.version, version)
      switch words[0] {
      case "storing": pending[key] = .stored(version: version, count: Int(words[3]) ?? 0)
      case "removing": pending[key] = State.none
      case "stored", "removed":
        if let state = pending.removeValue(forKey: key) { confirmed[key] = state }
      default: break
      }
    }
  }

  /// Checks the store against the history and takes what it holds as the new truth.
  mutating func check(_ store: ResponseStore, _ comment: String) async throws {
    for key in confirmed.indices {
      let found = try await store.lookup(RequestKey(target: "https://example.org/\(key)"))
      #expect(found.damaged == 0, "\(comment)")
      let allowed = [confirmed[key]] + (pending[key].map { [$0] } ?? [])
      var match: State?
      for state in allowed where try await holds(state, key, found.rows, store) { match = state }
      #expect(match != nil, "key \(key): \(found.rows.map(\.started)), allowed \(allowed), \(comment)")
      confirmed[key] = match ?? .none
    }
    pending = [:]
  }

  private func holds(
    _ state: State, _ key: Int, _ rows: [StoredResponse], _ store: ResponseStore
  ) async throws -> Bool {
    guard case .stored(let version, let count) = state else { return rows.isEmpty }
    guard rows.count == 1, rows[0].fields["ETag"] == "\"\(version)\"" else { return false }
    var generator = SeededGenerator(seed: UInt64(key) << 40 ^ UInt64(bitPattern: version))
    return try await store.wholeBody(rows[0]) == Data(generator.bytes(count))
  }
}
