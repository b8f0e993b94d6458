internal import DataService
internal import Guards

/// URLs as the command shows them: without secrets, including those that the command line names.
enum Shown {
  private static let list = Guarded(SecretList())

  /// The names of secret fields and parameters.
  static var secrets: SecretList { list.withLock { $0 } }

  /// Adds the names of `--secret-field` and `--secret-parameter`; called once, before anything is shown.
  static func learn(fields: [String], parameters: [String]) {
    guard !fields.isEmpty || !parameters.isEmpty else { return }
    list.withLock { list in
      for name in fields { list.fields.insert(name.lowercased()) }
      for name in parameters { list.parameters.insert(name.lowercased()) }
    }
  }

  /// A URL, or text that was meant as one.
  static func url(_ text: String) -> String { ShownURL.text(text, secrets: secrets) }
}
