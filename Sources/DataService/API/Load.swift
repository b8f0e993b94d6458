extension DataService {
  /// A handle on a load under way. Dropping it does not cancel.
  public struct Load: Sendable {
    let task: any AnyLoad
    /// Set once the callbacks have run, where they run on a queue.
    var called: FirstValue<Void>?

    /// Ends the load: no callback starts after this returns, and none is running either where it is called on the
    /// serial queue or the actor that the callbacks use. Never waits. The exchange stops where no other load wants it.
    public func cancel() {
      task.cancel()
      called?.set(())
    }

    /// Returns once everything is delivered, or cancelled, and what the load had to store is stored or given up.
    public func finished() async {
      await task.finished()
      await called?.value
    }
  }
}
