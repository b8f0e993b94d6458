internal import CCurl

/// What the network thread tells libcurl's exit, which waits until the thread rests: it must not call the library while the
/// process takes it down.
enum ExitGuard {
  /// Names the calling thread, and announces that it may call libcurl.
  static func begin() {
    ccurl_name_thread("cachefetch-net")
    ccurl_thread_resume()
  }

  /// Never returns if the process is exiting.
  static func check() { ccurl_thread_check() }
  static func rest() { ccurl_thread_rest() }
  static func resume() { ccurl_thread_resume() }
}
