import PlatformC

/// Runs blocking work on a new thread, so that no test blocks the threads of the concurrency runtime.
package enum BackgroundThread {
  fileprivate final class Work {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  package static func start(_ body: @escaping @Sendable () -> Void) {
    let code = create(Unmanaged.passRetained(Work(body)).toOpaque())
    precondition(code == 0, "pthread_create: \(String(cString: strerror(code)))")
  }

  private static func create(_ work: UnsafeMutableRawPointer) -> Int32 {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    #if canImport(Darwin)
      pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED)
      var thread: pthread_t?
      return pthread_create(&thread, &attributes, runWork, work)
    #else
      pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
      var thread = pthread_t()
      return pthread_create(&thread, &attributes, runWork, work)
    #endif
  }
}

/// A global function and not a closure: the 6.3.1 compiler crashes on the closure's isolation check.
private func runWork(_ work: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  if let work { Unmanaged<BackgroundThread.Work>.fromOpaque(work).takeRetainedValue().body() }
  return nil
}
