import CacheStore
import DataService
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

@Suite("Command line: data", .inTurn) struct BodyArgumentTests {
  private func request(_ words: [String]) throws -> DataService.Request {
    let arguments = try ArgumentParser.parse(words)
    return try RequestArguments(arguments).request(for: arguments.operand)
  }

  private func refusal(_ words: [String]) -> String? {
    do throws(UsageError) {
      let arguments = try ArgumentParser.parse(words)
      _ = try RequestArguments(arguments).request(for: arguments.operand)
      return nil
    } catch {
      return error.line
    }
  }

  /// As curl 7.88 sends them.
  @Test func `data are URL-encoded in each of curl's forms`() throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("file b&=ü\n", to: "file")
    let request = try request([
      "--data-urlencode", "a=b c/ü~", "--data-urlencode", "=x=y", "--data-urlencode", "plain &",
      "--data-urlencode", "n@\(file)", "--data-urlencode", "@\(file)", "-d", "z z", "http://a/",
    ])
    #expect(
      request.body.map { String(decoding: $0, as: UTF8.self) }
        == "a=b+c%2F%C3%BC~&x%3Dy&plain+%26&n=file+b%26%3D%C3%BC%0A&file+b%26%3D%C3%BC%0A&z z")
    #expect(request.method == .post)
  }

  @Test(
    "With -G the data are the query",
    arguments: [
      (["-G", "-d", "a=1", "http://h/x"], "http://h/x?a=1"),
      (
        ["-G", "-d", "a=1", "--data-urlencode", "b=ü &", "http://h/x?c=2"], "http://h/x?c=2&a=1&b=%C3%BC+%26"
      ),
      (["-G", "-d", "a=1", "http://h/x?#part"], "http://h/x?a=1#part"), (["-G", "http://h/x"], "http://h/x"),
      (["-G", "-d", "a", "http://h/?b&"], "http://h/?b&a"),
    ] as [([String], String)])
  func query(words: [String], url: String) throws {
    let request = try request(words)
    #expect(request.url.absoluteString == url)
    #expect(request.method == .get && request.body == nil && !request.fields.contains("Content-Type"))
  }

  @Test func `with -G the method may be another`() throws {
    #expect(try request(["-G", "-I", "-d", "a", "http://h/"]).method == .head)
    #expect(try request(["-G", "-X", "DELETE", "-d", "a", "http://h/"]).method.rawValue == "DELETE")
  }

  @Test func `data that no URL can have are refused with -G`() {
    #expect(refusal(["-G", "-d", "a b", "http://h/"])?.contains("--data-urlencode") == true)
    #expect(refusal(["-G", "-d", "a#b", "http://h/"])?.contains("--data-urlencode") == true)
  }
}
