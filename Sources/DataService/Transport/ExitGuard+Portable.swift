/// Without libcurl no exit has to wait for the network thread.
enum ExitGuard {
  static func begin() {}
  static func check() {}
  static func rest() {}
  static func resume() {}
}
