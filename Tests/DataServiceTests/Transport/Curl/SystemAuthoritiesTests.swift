import CacheStore
import TestSupport
import Testing
import TestTurns

@testable import DataService

@Suite("The system's authorities: links by hash", .inTurn) struct SystemAuthoritiesTests {
  @Test(arguments: ["002c0b4f.0", "ffffffff.12"]) func `a name as rehash gives links is one of a link`(
    name: String
  ) {
    #expect(SystemAuthorities.isLink(name))
  }

  @Test(
    arguments: [
      "", ".", "..", "ca-certificates.crt", "002c0b4f", "002c0b4f.", "002c0b4f.r0", "002c0b4f.0x",
      "02c0b4f.0",
      "0002c0b4f.0", "002C0B4F.0", "002c0b4g.0", "GlobalSign_Root_R46.pem",
    ]) func `any other name is none of a link`(name: String)
  {
    #expect(!SystemAuthorities.isLink(name))
  }

  private func found(_ named: String?, _ file: String?, _ folder: String?) -> String? {
    SystemAuthorities.finding(named: named, file: file, folder: folder).map { "\($0.severity) \($0.message)" }
  }

  @Test func `a bundle, or a folder of links, is enough to verify a server with`() throws {
    let folder = try TemporaryFolder()
    let bundle = try folder.write("x", to: "bundle.pem")
    let none = folder.file("none")
    #expect(found(nil, bundle, nil) == "fine \(bundle)")
    #expect(found(nil, bundle, none) == "fine \(bundle)")
    #expect(found(bundle, none, nil) == "fine \(bundle)")
    #expect(found(nil, none, folder.path)?.hasPrefix("wrong there are no") == true, "a folder without links")
    try folder.write("x", to: "002c0b4f.0")
    #expect(found(nil, none, folder.path) == "fine \(folder.path)")
    #expect(found(nil, nil, folder.path) == "fine \(folder.path)")
  }

  @Test func `without any, every server is refused, and the remedy is a package`() throws {
    let folder = try TemporaryFolder()
    let (file, none) = (folder.file("bundle.pem"), folder.file("certs"))
    #expect(
      found(nil, file, none)
        == "wrong there are no certificate authorities at \(file) or \(none): no https server can be verified"
    )
    #expect(
      SystemAuthorities.finding(named: nil, file: file, folder: none)?.remedy?.text.contains(
        "ca-certificates")
        == true)
    #expect(found(nil, folder.path, nil)?.hasPrefix("wrong there are no") == true, "a folder is no bundle")
    let empty = try folder.write("", to: "empty.pem")
    #expect(found(nil, empty, nil)?.hasPrefix("wrong there are no") == true, "nor is an empty file")
    // libcurl that names no place has others.
    #expect(found(nil, nil, nil) == nil)
  }

  @Test func `what the environment names has to be there, whatever else is`() throws {
    let folder = try TemporaryFolder()
    let (bundle, none) = (try folder.write("x", to: "bundle.pem"), folder.file("none"))
    try folder.write("x", to: "002c0b4f.0")
    for named in [none, folder.path] {
      #expect(
        found(named, bundle, folder.path)
          == "wrong the certificate authorities that the environment names cannot be read: \(named)")
    }
  }
}
