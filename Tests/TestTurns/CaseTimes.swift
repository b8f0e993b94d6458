import Foundation
import Synchronization

/// How long each case of a test took once it was its turn, and what processor time the process and the children that ended
/// meanwhile used, in the file that `CACHEFETCH_TEST_TIMES` names. The second is the case's own where one test runs at once.
enum CaseTimes {
  private static let file: FileHandle? = {
    guard let path = ProcessInfo.processInfo.environment["CACHEFETCH_TEST_TIMES"] else { return nil }
    _ = FileManager.default.createFile(atPath: path, contents: nil)
    return FileHandle(forWritingAtPath: path)
  }()
  private static let turn = Mutex(())

  struct Moment {
    fileprivate let clock = ContinuousClock.now
    fileprivate let processor = CaseTimes.file == nil ? 0 : CaseTimes.processorMilliseconds()
  }

  static func note(_ name: String, since began: Moment) {
    guard let file else { return }
    let milliseconds = Int((ContinuousClock.now - began.clock) / .milliseconds(1))
    let processor = processorMilliseconds() - began.processor
    turn.withLock { _ in try? file.write(contentsOf: Data("\(milliseconds) \(processor) \(name)\n".utf8)) }
  }

  /// In steps of the system's clock ticks, of ten milliseconds as a rule.
  private static func processorMilliseconds() -> Int {
    var used = tms()
    times(&used)
    let ticks = used.tms_utime + used.tms_stime + used.tms_cutime + used.tms_cstime
    return Int(ticks) * 1000 / sysconf(Int32(_SC_CLK_TCK))
  }
}
