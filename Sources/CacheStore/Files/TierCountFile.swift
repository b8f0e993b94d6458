internal import PlatformC

/// `STORE.tier`: the counts of what the fleet's second tier has done, as one line of four numbers.
///
/// A process adds to it at its end, under a lock of the file; a kill loses that process's counts. Nothing depends on
/// them.
struct TierCountFile {
  let files: StoreFiles

  /// The counts; none where there is no such file.
  var counts: TierCounts {
    let descriptor = open(files.tierCounts, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return TierCounts() }
    defer { close(descriptor) }
    return Self.read(descriptor)
  }

  /// Adds to the counts, unless the file cannot be written. Waits for another process that is adding, which is a
  /// moment.
  func add(_ counts: TierCounts) {
    let descriptor = open(
      files.tierCounts, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    guard let status = FileStatus(descriptor: descriptor), status.kind == .file, status.owner == geteuid(),
      !status.hasOtherNames, flock(descriptor, LOCK_EX) == 0
    else { return }
    var sum = Self.read(descriptor)
    sum += counts
    let line = Array("\(sum.asked) \(sum.stored) \(sum.offered) \(sum.silent)\n".utf8)
    // The sums never shrink, so the new line covers the old one.
    _ = pwrite(descriptor, line, line.count, 0)
  }

  private static func read(_ descriptor: Int32) -> TierCounts {
    var buffer = [UInt8](repeating: 0, count: 128)
    let length = pread(descriptor, &buffer, buffer.count, 0)
    guard length > 0 else { return TierCounts() }
    let words = buffer[..<length].split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
    let numbers = words.compactMap { Int64(String(decoding: $0, as: UTF8.self)) }.filter { $0 >= 0 }
    guard numbers.count == 4 else { return TierCounts() }
    return TierCounts(asked: numbers[0], stored: numbers[1], offered: numbers[2], silent: numbers[3])
  }
}
