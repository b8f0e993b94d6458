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

  fileprivate static func run(_ work: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body()
    return nil
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

// Global functions and not closures: the 6.3.1 compiler crashes on the closure's isolation check. Darwin's C has another
// type for them than Linux's.
#if canImport(Darwin)
  private func runWork(_ work: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    BackgroundThread.run(work)
  }
#else
  private func runWork(_ work: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    work.flatMap(BackgroundThread.run)
  }
#endif
