/// Numbers with their nouns, for messages: “1 response”, “2 responses”.
package enum Counted {
  /// - Parameter plural: The noun for any other number than one; with an “s” unless it is said.
  package static func text(
    _ count: some BinaryInteger, _ noun: String, _ plural: String? = nil
  ) -> String { "\(count) \(count == 1 ? noun : plural ?? noun + "s")" }

  /// “was” for one, “were” for any other number.
  package static func were(_ count: some BinaryInteger) -> String { count == 1 ? "was" : "were" }
}
