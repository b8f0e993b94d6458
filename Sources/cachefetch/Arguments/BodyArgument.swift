/// The body of `-d TEXT`, `-d @FILE` and `-d @-`, byte for byte.
enum BodyArgument {
  /// The body that all `-d` together make, joined by `&` as in curl; `nil` where there is none.
  static func body(_ arguments: [String]) throws(UsageError) -> [UInt8]? {
    guard !arguments.isEmpty else { return nil }
    var body: [UInt8] = []
    for (index, argument) in arguments.enumerated() {
      if index > 0 { body.append(0x26) }
      body +=
        argument.hasPrefix("@")
        ? try InputFile.read(String(argument.dropFirst()), for: "-d") : Array(argument.utf8)
    }
    return body
  }
}
