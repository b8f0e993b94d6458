/// Lines of `name | text`, in which the sources keep texts for people.
enum NamedText {
  static func lines(_ lines: String) -> [(name: String, text: String)] {
    lines.split(separator: "\n").map { line in
      let parts = line.split(separator: " | ", maxSplits: 1)
      return (String(parts[0]), String(parts[1]))
    }
  }
}
