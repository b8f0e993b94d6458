import PlatformC

/// Runs blocking work on a new thread, so that no test blocks the threads of the concurrency runtime.
package enum BackgroundThread {
  package static func start(_ body: @escaping @Sendable () -> Void) {
    let code = startThread(body)
    precondition(code == 0, "pthread_create: \(String(cString: strerror(code)))")
  }
}
