internal import DataService
internal import Synchronization

/// URLs as the command shows them: without their secrets, those that the command line names included.
enum Shown {
  private static let list = Mutex(SecretList())

  /// What is secret.
  static var secrets: SecretList { list.withLock { $0 } }

  /// Takes the names of `--secret-field` and `--secret-parameter`; called once, before anything is shown.
  static func learn(fields: [String], parameters: [String]) {
    guard !fields.isEmpty || !parameters.isEmpty else { return }
    list.withLock { list in
      for name in fields { list.fields.insert(name.lowercased()) }
      for name in parameters { list.parameters.insert(name.lowercased()) }
    }
  }

  /// A URL, or what was meant for one.
  static func url(_ text: String) -> String { ShownURL.text(text, secrets: secrets) }
}
