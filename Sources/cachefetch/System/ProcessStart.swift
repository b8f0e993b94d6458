internal import CProcess

/// What the process is given by the system, and what it asks of it before anything else.
enum ProcessStart {
  /// Called once, before any thread is made.
  static func prepare() {
    cprocess_raise_descriptor_limit()
    cprocess_take_over_tasks()
  }

  /// No core files, and no look into this process by others of the user's.
  static func keepMemoryPrivate() { cprocess_keep_memory_private() }

  /// The libraries that are a part of this program, with the revisions of their packages; `nil` where it was not built
  /// as it is shipped.
  static var linkedLibraries: String? {
    let text = String(cString: cprocess_linked_libraries())
    return text.isEmpty ? nil : text
  }

  /// What the process of `--background` is called, which is how it knows what it is.
  static let backgroundName = "cachefetch-background"
  static let isBackground = argument(0).map { String(cString: $0) } == backgroundName

  /// How many words the command line has, the program's name included.
  static var argumentCount: Int { Int(cprocess_argument_count()) }

  /// A word of the command line; 0 is the program's name.
  static func argument(_ index: Int) -> UnsafePointer<CChar>? {
    guard index < argumentCount, let words = cprocess_arguments() else { return nil }
    return UnsafePointer(words[index])
  }
}
