/// How long one half of the service waits for the other (laws 3 and 4).
package struct InternalTimeouts: Sendable {
  /// After this long without the store's answer, the exchange starts without it.
  package var slowStore = Duration.milliseconds(20)
  /// A fresh response that is complete waits this long for the store's answer.
  package var storeAnswer = Duration.milliseconds(250)
  /// A delivery waits this long for its row to be committed.
  package var commit = Duration.milliseconds(250)

  /// What the laws say.
  package init() {}

  /// For tests on a machine that is busy with others: each half waits for the other as long as it takes.
  package static var endless: InternalTimeouts {
    var timeouts = InternalTimeouts()
    timeouts.slowStore = .seconds(3600)
    timeouts.storeAnswer = .seconds(3600)
    timeouts.commit = .seconds(3600)
    return timeouts
  }
}
