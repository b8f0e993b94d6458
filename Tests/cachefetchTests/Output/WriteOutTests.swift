import CacheStore
import DataService
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

@Suite("Output: the format of -w", .inTurn) struct WriteOutTests {
  private func text(_ format: String, _ change: (inout WriteOut.Transfer) -> Void = { _ in }) throws -> String
  {
    var transfer = WriteOut.Transfer(number: 1, url: "http://a.example/x", method: "GET")
    change(&transfer)
    return try WriteOut(format: format).text(of: transfer, exitStatus: .nothing, file: "out")
      .map { ($0.isForErrors ? "2:" : "1:") + $0.text }.joined(separator: "|")
  }

  @Test(arguments: [
    ("a", "1:a"), ("%{exitcode}\\n", "1:4\n"), ("%{http_code}", "1:000"), ("100%% %x", "1:100% %x"),
    ("\\t\\r\\q\\", "1:\t\r\\q\\"), ("%{url} %{method} %{urlnum}", "1:http://a.example/x GET 1"),
    ("a%{stderr}b%{stdout}c", "1:a|2:b|1:c"), ("%header{etag}.", "1:."), ("%{scheme}", "1:http"),
    ("%{filename_effective} %{http_version} %{num_headers}", "1:out 0 0"), ("", ""), ("%", "1:%"),
    ("%{errormsg}%{content_type}%{size_download}", "1:0"),
  ])
  func `each variable and escape is written as by curl`(format: String, expected: String) throws {
    #expect(try text(format) == expected)
  }

  @Test func `a failure says its message, and its status where it has one`() throws {
    let error = DataServiceError(.status, "it answered 503", status: 503)
    #expect(
      try text("%{http_code} %{errormsg} %{delivery}") { $0.take(error) } == "1:503 it answered 503 failure")
  }

  @Test func `the time is in seconds with six digits behind the point`() throws {
    #expect(try text("%{time_total}").wholeMatch(of: #/1:[0-9]+\.[0-9]{6}/#) != nil)
  }

  @Test(arguments: ["%{time_connect}", "%{", "%{certs}", "%header{x"])
  func `what cannot be said is refused, and the line names what can`(format: String) {
    #expect(throws: UsageError.self) { try WriteOut(format: format) }
  }

  @Test func `what is known of a response is in its variables`() throws {
    let head = Sample.head {
      $0.redirects = 2
      $0.status = 206
      $0.fields = ["Content-Type": "text/plain", "ETag": "x"]
    }
    let all =
      "%{content_type} %{http_code} %{response_code} %{http_version} %{num_headers} %{num_redirects} %{url_effective} "
      + "%{delivery} %{size_download} %header{etag}"
    #expect(
      try text(all) { $0.take(head, "fresh") }
        == "1:text/plain 206 206 1.1 2 2 http://a.example/y fresh 3 x")
  }

  @Test(
    "size_download is what the origin sent, 0 where the body was stored or its length is not known",
    arguments: [
      ("counted", Sample.head(), 7, "7"), ("as long as the body", Sample.head(), nil, "3"),
      ("not known", Sample.head { $0.bodyLength = nil }, nil, "0"),
      ("stored", Sample.head(isStored: true), 7, "0"),
      ("confirmed", Sample.head { $0.wasValidated = true }, 7, "0"),
    ] as [(String, DataService.ResponseHead, Int64?, String)])
  func received(name: String, head: DataService.ResponseHead, received: Int64?, bytes: String) throws {
    let text = try text("%{size_download}") {
      $0.take(head, "fresh")
      $0.received = received
    }
    #expect(text == "1:\(bytes)", "\(name)")
  }

  @Test func `as JSON figures are numbers, and what there is not is null`() throws {
    let json = try text("%{json}")
    #expect(
      json.hasPrefix(
        #"1:{"content_type":null,"delivery":null,"errormsg":null,"exitcode":4,"filename_effective":"out","http_code":0,"#
          + #""http_version":"0","method":"GET","printed":"none","num_headers":0,"num_redirects":0,"response_code":0,"scheme":"http","#
          + #""size_download":0,"time_total":0."#), "\(json)")
    #expect(
      json.hasSuffix(#","url":"http://a.example/x","url_effective":"http://a.example/x","urlnum":1}"#))
    #expect(
      try text("%{json}") { $0.take(Sample.head { $0.status = 100 }, "fresh") }.contains(#""http_code":100,"#)
    )
  }

  @Test func `a format from a file has no line breaks`() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("a\r\nb\0%{url}\n", to: "format")
    #expect(try WriteOut(argument: "@" + path) == WriteOut(format: "ab%{url}"))
    #expect(try WriteOut(argument: "a\n") == WriteOut(format: "a\n"))
  }

  @Test func `adjoining text of one stream is one piece`() throws {
    #expect(try text("a%{stderr}%{stdout}b%{stderr}c%{url}") == "1:a|1:b|2:chttp://a.example/x")
    #expect(try WriteOut(format: "a%%b%{url}c").parts == [.text("a%b"), .variable(.url), .text("c")])
    #expect(try text("%{stderr}%header{etag}%{delivery}") == "")
  }
}
