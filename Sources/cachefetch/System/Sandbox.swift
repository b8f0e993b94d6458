internal import CProcess
internal import DataService
internal import Synchronization

/// What the command may do with files while it has to do with the network: Landlock, where the kernel has it.
///
/// The network's thread puts the rules together, beside the loading of the network library, so that a stored answer does
/// not wait for them. It and all threads that it starts are held to them, and the main thread before it takes what the
/// network brought.
enum Sandbox {
  /// A path below which files may be read, or written too.
  struct Rule: Hashable, Sendable {
    var path: String
    var writes = false
  }

  /// The kernel's name of the rules; -1 until there are any.
  private static let rules = Atomic<Int32>(-1)
  /// Whether the main thread is to be held to them.
  private static let awaitsMainThread = Atomic(false)

  /// Sees to it that the network is only had to do with under the rules.
  /// - Parameters:
  ///   - allowed: Everything that a load needs; asked for on the network's thread.
  ///   - holdsMainThread: Whether the main thread is to be held to them too.
  static func prepare(holdsMainThread: Bool, allowing allowed: @escaping @Sendable () -> [Rule]) {
    NetworkThread.setPreparation {
      guard rules.load(ordering: .acquiring) < 0 else {
        _ = cprocess_confinement_enforce(rules.load(ordering: .acquiring))
        return
      }
      let made = cprocess_confinement_begin()
      guard made >= 0 else { return }
      for rule in allowed() { allow(rule, in: made) }
      guard cprocess_confinement_enforce(made) else { return }
      rules.store(made, ordering: .releasing)
      awaitsMainThread.store(holdsMainThread, ordering: .releasing)
    }
  }

  /// Called by the main thread before it takes what another thread has for it.
  static func takeIn() {
    guard awaitsMainThread.load(ordering: .acquiring) else { return }
    awaitsMainThread.store(false, ordering: .relaxed)
    _ = cprocess_confinement_enforce(rules.load(ordering: .acquiring))
  }

  /// Allows it; where a folder to write to is still missing, that it be made.
  private static func allow(_ rule: Rule, in made: Int32) {
    var path = rule.path
    while !cprocess_confinement_allow(made, path, rule.writes), rule.writes, path != "/", path != "." {
      path = Paths.folder(of: path)
    }
  }
}
