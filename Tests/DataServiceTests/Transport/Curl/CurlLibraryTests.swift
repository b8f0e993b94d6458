import CacheStore
import FixtureServer
import Foundation
import TestSupport
import Testing
import TestTurns

@testable import DataService

@Suite("libcurl transport: the library's version", .inTurn) struct CurlLibraryTests {
  @Test(
    .enabled(if: ChangedLibcurl.isPossible, "there is no C compiler"),
    arguments: [(0x07_50_00, true), (0x07_50_01, true), (0x07_4F_FF, false)])
  func `a libcurl of 7.80 or later does, an older one is as good as none`(
    version: Int, does: Bool
  ) async throws {
    let libcurl = try await ChangedLibcurl(version: version)
    let origin = try FixtureServer(routes: ["/": .ok("hello")])
    var configuration = CurlConfiguration()
    configuration.libraryName = libcurl.path
    let transport = CurlTransport(configuration: configuration)
    guard !does else {
      #expect(try await transport.response(to: origin.request("/")).body.text() == "hello")
      return
    }
    let error = await #expect(throws: DataServiceError.self) {
      _ = try await transport.response(to: origin.request("/"))
    }
    #expect(error?.kind == .libraryMissing && error?.hint?.contains("libcurl4") == true)
    #expect(error?.message == "libcurl \(libcurl.path) is older than 7.80")
    #expect(origin.requests().isEmpty)
  }

  @Test func `where the first name is not there the next is opened, and where none is the first is named`()
    throws
  {
    let missing = "libcurl-that-is-not-there.so.4"
    #expect(
      try CurlLibrary.load("\(missing):libcurl.so.4").version == CurlLibrary.load("libcurl.so.4").version)
    let error = #expect(throws: DataServiceError.self) {
      _ = try CurlLibrary.load("\(missing):libcurl-nor-this.so.4")
    }
    #expect(error?.kind == .libraryMissing && error?.message.contains(missing) == true, "\(error as Any)")
  }

  @Test func `the version names what libcurl speaks TLS with and can decode`() throws {
    let text = try SystemTransport.version()
    #expect(text.hasPrefix("libcurl ") && text.hasSuffix(")") && !text.hasSuffix("()"))
    #expect(text.contains(" (") && !text.contains("\0"))
  }
}
