import PlatformC
import TestSupport
import Testing
import TestTurns

@testable import DataService

@Suite("Files of certificates, and their digests", .inTurn) struct CertificateFileTests {
  private func name(_ number: Int) -> String { "/\(number).pem" }

  private func stamp(_ seconds: Int64) -> CertificateFile.Stamp {
    CertificateFile.Stamp(device: 1, inode: 2, bytes: 3, seconds: seconds, nanoseconds: 4)
  }

  @Test func `a digest is that of one version of one file`() {
    var digests = CertificateDigests()
    digests.remember("old", of: name(1), stamp(1))
    #expect(digests.digest(of: name(1), stamp(1)) == "old")
    #expect(digests.digest(of: name(1), stamp(2)) == nil)
    #expect(digests.digest(of: name(2), stamp(1)) == nil)
    digests.remember("new", of: name(1), stamp(2))
    #expect(digests.digest(of: name(1), stamp(2)) == "new")
    #expect(digests.digest(of: name(1), stamp(1)) == nil, "the version before is forgotten")
  }

  @Test func `the sixteen that were made last are remembered`() {
    var digests = CertificateDigests()
    for number in 1...16 { digests.remember("\(number)", of: name(number), stamp(1)) }
    for number in 1...16 { #expect(digests.digest(of: name(number), stamp(1)) == "\(number)") }
    digests.remember("17", of: name(17), stamp(1))
    #expect(digests.digest(of: name(1), stamp(1)) == nil)
    for number in 2...17 { #expect(digests.digest(of: name(number), stamp(1)) == "\(number)") }
  }

  private func content(_ path: String) -> [UInt8]? {
    guard let file = CertificateFile(path: path) else { return nil }
    return file.content()
  }

  private func isOpened(_ path: String) -> Bool {
    guard let file = CertificateFile(path: path) else { return false }
    return file.stamp.bytes >= 0
  }

  @Test func `a regular file is read whole, and nothing else is`() throws {
    let folder = try TemporaryFolder()
    let bytes = distinctBytes(70_000)
    let path = try folder.write(bytes, to: "ca.pem")
    #expect(content(path) == bytes)
    let empty = try folder.write("", to: "empty.pem")
    #expect(content(empty) == [])
    #expect(content(folder.file("none.pem")) == nil)
    #expect(content(folder.path) == nil)
    #expect(content("/dev/null") == nil)
  }

  @Test func `a file of 16 MiB is opened, and one of a byte more is not`() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("", to: "long.pem")
    try #require(truncate(path, 16 << 20) == 0)
    #expect(isOpened(path))
    try #require(truncate(path, (16 << 20) + 1) == 0)
    #expect(!isOpened(path))
  }
}
