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
}
