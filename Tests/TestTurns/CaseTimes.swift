import Foundation
import Synchronization

/// How long each case of a test took once it was its turn, in the file that `CACHEFETCH_TEST_TIMES` names.
enum CaseTimes {
  private static let file: FileHandle? = {
    guard let path = ProcessInfo.processInfo.environment["CACHEFETCH_TEST_TIMES"] else { return nil }
    _ = FileManager.default.createFile(atPath: path, contents: nil)
    return FileHandle(forWritingAtPath: path)
  }()
  private static let turn = Mutex(())

  static func note(_ name: String, since began: ContinuousClock.Instant) {
    guard let file else { return }
    let milliseconds = (ContinuousClock.now - began) / .milliseconds(1)
    turn.withLock { _ in try? file.write(contentsOf: Data("\(Int(milliseconds)) \(name)\n".utf8)) }
  }
}
