/// Runs `body` on a new thread, which nobody waits for.
/// - Returns: 0, or the error number that `pthread_create` returned; `body` is then not run.
package func startThread(_ body: @escaping @Sendable () -> Void) -> Int32 {
  var attributes = pthread_attr_t()
  pthread_attr_init(&attributes)
  defer { pthread_attr_destroy(&attributes) }
  pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
  let context = Unmanaged.passRetained(ThreadBody(body))
  let code = create(&attributes, context.toOpaque())
  if code != 0 { context.release() }
  return code
}

func runBody(of context: UnsafeMutableRawPointer) {
  Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().run()
}

private final class ThreadBody {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}
