import Foundation
import TestTurns
import Testing

@Suite("What the libraries say holds in every program", .inTurn) struct LibraryWordsTests {
  private struct Exception {
    let file: String
    let text: String
    let reason: Comment
  }

  /// What would be of the command, and is not.
  private static let exceptions = [
    Exception(
      file: "PreloadPlan.swift", text: "xn--",
      reason: "names in other alphabets begin with it (RFC 5890)"),
    Exception(
      file: "InternationalHost.swift", text: "xn--",
      reason: "names in other alphabets begin with it (RFC 5890)"),
    Exception(file: "Migrations.swift", text: "-- 'evicted'", reason: "a comment in SQL"),
    Exception(
      file: "SQLiteFailure.swift", text: "is not a store of cachefetch",
      reason: "the name of the product, whose format the file does not have"),
  ]

  @Test(
    "no message or remedy names the command, an option or a variable of it",
    arguments: ["CacheStore", "DataService", "DataServiceTesting", "Launch", "RedisTier"])
  func words(target: String) throws {
    let sources = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Sources/\(target)").standardized
    let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
    var read = 0
    for case let file as URL in files where file.pathExtension == "swift" {
      read += 1
      for (number, line) in try String(contentsOf: file, encoding: .utf8).split(separator: "\n").enumerated()
      {
        // Most lines have none of these, and the exact rule is slow.
        guard ["--", "cachefetch", "CACHEFETCH_"].contains(where: { line.range(of: $0) != nil }) else {
          continue
        }
        guard !line.drop(while: { $0 == " " }).hasPrefix("//") else { continue }
        var rest = String(line)
        for exception in Self.exceptions where exception.file == file.lastPathComponent {
          rest.replace(exception.text, with: "")
        }
        #expect(!Self.isOfCommand(rest), "\(file.lastPathComponent):\(number + 1): \(line)")
      }
    }
    #expect(read > 0)
  }

  @Test("every exception still stands in its file") func used() throws {
    let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources")
      .standardized
    let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
    let paths = files.compactMap { $0 as? URL }
    for exception in Self.exceptions {
      let path = try #require(paths.first { $0.lastPathComponent == exception.file })
      #expect(try String(contentsOf: path, encoding: .utf8).contains(exception.text), exception.reason)
    }
  }

  @Test(
    "words of the command are found",
    arguments: [
      (#"hint: "repair it with --repair""#, true), (#"throw Problem("use -- before it")"#, true),
      (#"environment["CACHEFETCH_STORE"]"#, true), (#"hint: "run cachefetch doctor""#, true),
      (#"hint: "\(path) is not of cachefetch""#, true), ("      cachefetch doctor repairs it", true),
      (#"DispatchQueue(label: "cachefetch.store.write")"#, false), (#"var text = "cachefetch""#, false),
      (#"setValue("cachefetch/\(version)", forHTTPHeaderField: "User-Agent")"#, false),
      ("_ = cachefetch_bind_text_static(raw, index, kept)", false), ("value -= 1", false),
    ])
  func found(line: String, isOfCommand: Bool) { #expect(Self.isOfCommand(line) == isOfCommand) }

  /// Whether a line of code, which has no `--` outside of literals, has a word of the command in a literal.
  private static func isOfCommand(_ line: String) -> Bool {
    if line.contains("--") || line.contains("CACHEFETCH_") { return true }
    guard line.contains(/\bcachefetch\b/) else { return false }
    // A literal without a space is no message: a label, a folder, a name in a header. A line without a quotation mark is part
    // of a longer literal.
    guard line.contains("\"") else { return true }
    return line.matches(of: /"(?:[^"\\]|\\.)*"/)
      .contains { $0.output.contains(" ") && $0.output.contains(/\bcachefetch\b/) }
  }
}
