package import CacheStore
internal import PlatformC

/// What a fleet's tier has done for the processes on a store, for the statistics.
package struct TierCounts: Sendable, Hashable {
  /// Exchanges that asked the tier.
  package var asked: Int64 = 0
  /// Rows of the tier that were stored here.
  package var stored: Int64 = 0
  /// Responses that the tier accepted.
  package var offered: Int64 = 0
  /// Exchanges that got no answer in time, or did not ask because the tier was silent.
  package var silent: Int64 = 0
  /// Microseconds that exchanges waited for what the tier has, in vain or not.
  package var waitedMicroseconds: Int64 = 0

  /// Nothing yet, unless given.
  package init(
    asked: Int64 = 0, stored: Int64 = 0, offered: Int64 = 0, silent: Int64 = 0, waitedMicroseconds: Int64 = 0
  ) {
    self.asked = asked
    self.stored = stored
    self.offered = offered
    self.silent = silent
    self.waitedMicroseconds = waitedMicroseconds
  }

  /// Adds other counts.
  static func += (left: inout TierCounts, right: TierCounts) {
    left.asked.saturate(adding: right.asked)
    left.stored.saturate(adding: right.stored)
    left.offered.saturate(adding: right.offered)
    left.silent.saturate(adding: right.silent)
    left.waitedMicroseconds.saturate(adding: right.waitedMicroseconds)
  }
}

extension ResponseStore {
  /// The counts of the fleet's tier.
  package var tierCounts: TierCounts { TierCountFile(path: upstreamCounts).counts }

  /// Adds to them, on the calling thread, where there is a store that may be written.
  func add(_ counts: TierCounts) {
    guard counts != TierCounts(), !configuration.isReadOnly, FileStatus(path: configuration.path) != nil
    else {
      return
    }
    TierCountFile(path: upstreamCounts).add(counts)
  }
}

/// `STORE.tier`: the counts of what the tier has done, as one line of five numbers.
///
/// A process adds to it at its end, under a lock of the file; a kill loses that process's counts. Nothing depends on
/// them.
struct TierCountFile {
  let path: String

  /// The counts; none where there is no such file.
  var counts: TierCounts {
    let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return TierCounts() }
    defer { close(descriptor) }
    return Self.read(descriptor)
  }

  /// Adds to the counts, unless the file cannot be written. Waits for another process that is adding, which is a
  /// moment.
  func add(_ counts: TierCounts) {
    let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    guard let status = FileStatus(descriptor: descriptor), status.kind == .file, status.owner == geteuid(),
      !status.hasOtherNames, flock(descriptor, LOCK_EX) == 0
    else { return }
    var sum = Self.read(descriptor)
    sum += counts
    let line = Array(
      "\(sum.asked) \(sum.stored) \(sum.offered) \(sum.silent) \(sum.waitedMicroseconds)\n".utf8)
    // The sums never shrink, so the new line covers the old one.
    _ = pwrite(descriptor, line, line.count, 0)
  }

  private static func read(_ descriptor: Int32) -> TierCounts {
    var buffer = [UInt8](repeating: 0, count: 128)
    let length = pread(descriptor, &buffer, buffer.count, 0)
    guard length > 0 else { return TierCounts() }
    let words = buffer[..<length].split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
    let numbers = words.compactMap { Int64(String(decoding: $0, as: UTF8.self)) }.filter { $0 >= 0 }
    guard numbers.count == 5 else { return TierCounts() }
    return TierCounts(
      asked: numbers[0], stored: numbers[1], offered: numbers[2], silent: numbers[3],
      waitedMicroseconds: numbers[4])
  }
}
