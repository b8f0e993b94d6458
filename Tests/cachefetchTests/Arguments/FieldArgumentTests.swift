import CacheStore
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

@Suite("Command line: fields", .inTurn) struct FieldArgumentTests {
  private func wire(_ argument: String) throws(UsageError) -> String {
    var fields = HTTPFields()
    try FieldArgument.append(argument, to: &fields)
    return String(decoding: fields.wire, as: UTF8.self)
  }

  private func failure(_ argument: String) -> String? {
    do throws(UsageError) {
      _ = try wire(argument)
      return nil
    } catch {
      return error.line
    }
  }

  @Test(arguments: [
    ("A: b", "A: b\r\n"), ("A:b", "A: b\r\n"), ("A;", "A: \r\n"), ("A: b;", "A: b;\r\n"),
    ("A: b: c", "A: b: c\r\n"),
  ]) func `a field has a value, or none with a semicolon`(argument: String, wire: String) throws {
    #expect(try self.wire(argument) == wire)
  }

  @Test(arguments: [
    ("A", "-H has no colon in it"), ("A:", "header “A” has no value; write -H 'A;' to send it empty"),
    ("A: \t", "header “A” has no value"), ("\u{9B}:", "header “<U+009B>” has no value"), ("a b: c", "-H: "),
    ("a b;", "-H: "),
  ]) func `what is no field is refused with the reason`(argument: String, part: String) {
    #expect(failure(argument)?.contains(part) == true, "\(failure(argument) ?? "taken")")
  }

  @Test func `a line of a file is named by its number, empty ones counted`() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("A: 1\r\n\n\r\nnonsense\n", to: "fields")
    #expect(failure("@" + path)?.contains("line 4 of \(path) has no colon") == true)
    try folder.write("A: 1\r\n\n\r\nB: 2", to: "fields")
    #expect(try wire("@" + path) == "A: 1\r\nB: 2\r\n")
  }

  @Test func `credentials from a file end before its line breaks`() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("a:b\r\n\n", to: "user")
    #expect(try FieldArgument.basicCredentials("@" + path) == "Basic YTpi")
    #expect(try FieldArgument.basicCredentials("a:b") == "Basic YTpi")
    #expect(try FieldArgument.basicCredentials("a:b\n") == "Basic YTpiCg==")
    #expect(throws: UsageError.self) { try FieldArgument.basicCredentials("a") }
  }
}
