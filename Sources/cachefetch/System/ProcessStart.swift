internal import CProcess

/// The process's arguments, and its set-up before anything else runs.
enum ProcessStart {
  /// Called once, before any thread is created.
  static func prepare() {
    cprocess_raise_descriptor_limit()
    cprocess_take_over_tasks()
  }

  /// Disables core files and backtraces, and keeps the user's other processes from reading this one's memory.
  static func keepMemoryPrivate() { cprocess_keep_memory_private() }

  /// The statically linked libraries with their packages' revisions; `nil` unless this is the shipped build.
  static var linkedLibraries: String? {
    let text = String(cString: cprocess_linked_libraries())
    return text.isEmpty ? nil : text
  }

  /// The program name (`argv[0]`) of the background process, by which it recognises itself.
  static let backgroundName = "cachefetch-background"
  static let isBackground = argument(0).map { String(cString: $0) } == backgroundName

  /// The number of words in the command line, including the program's name.
  static var argumentCount: Int { Int(cprocess_argument_count()) }

  /// A word of the command line; 0 is the program's name.
  static func argument(_ index: Int) -> UnsafePointer<CChar>? {
    guard index < argumentCount, let words = cprocess_arguments() else { return nil }
    return UnsafePointer(words[index])
  }
}
