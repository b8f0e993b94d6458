internal import CProcess
internal import Synchronization

/// Restricts file access while the command uses the network, with Landlock if the kernel has it.
///
/// The network's thread builds the ruleset before it loads the network library, so that a stored response does not wait
/// for it. The ruleset binds that thread and all threads it starts, and the main thread before it reads data from the
/// network.
enum Sandbox {
  /// A path below which files may be read, or also written.
  struct Rule: Hashable, Sendable {
    var path: String
    var writes = false
  }

  /// The ruleset's descriptor; -1 before it is made.
  private static let rules = Atomic<Int32>(-1)
  /// Whether the ruleset must still be applied to the main thread.
  private static let awaitsMainThread = Atomic(false)

  /// What the network's thread runs first, so that the network is used only under the rules.
  /// - Parameters:
  ///   - allowed: Returns every path that a load needs; called on the network's thread.
  ///   - holdsMainThread: Whether the rules bind the main thread too.
  ///   - forbidden: Called where a filter of system calls kills who uses Landlock, so that there are no rules.
  static func preparation(
    holdsMainThread: Bool, allowing allowed: @escaping @Sendable () -> [Rule],
    ifForbidden forbidden: @escaping @Sendable () -> Void
  ) -> @Sendable () -> Void {
    {
      guard rules.load(ordering: .acquiring) < 0 else {
        _ = cprocess_confinement_enforce(rules.load(ordering: .acquiring))
        return
      }
      let made = cprocess_confinement_begin()
      if made == -2 { forbidden() }
      guard made >= 0 else { return }
      for rule in allowed() { allow(rule, in: made) }
      guard cprocess_confinement_enforce(made) else { return }
      rules.store(made, ordering: .releasing)
      awaitsMainThread.store(holdsMainThread, ordering: .releasing)
    }
  }

  /// Called by the main thread before it reads what another thread has for it.
  static func confineMainThread() {
    guard awaitsMainThread.load(ordering: .acquiring) else { return }
    awaitsMainThread.store(false, ordering: .relaxed)
    _ = cprocess_confinement_enforce(rules.load(ordering: .acquiring))
  }

  /// Allows the path of a rule. If a folder to write to does not exist yet, allows its nearest existing parent, so that
  /// it can be made.
  private static func allow(_ rule: Rule, in made: Int32) {
    var path = rule.path
    while !cprocess_confinement_allow(made, path, rule.writes), rule.writes, path != "/", path != "." {
      path = Paths.folder(of: path)
    }
  }
}
