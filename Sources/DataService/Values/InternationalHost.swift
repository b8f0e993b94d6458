internal import PlatformC

/// Converts hosts that are not ASCII to their DNS form: `bücher.example` is `xn--bcher-kva.example` (IDNA 2008, as in
/// curl).
///
/// libcurl depends on libidn2, so it is installed; it is loaded only for such a host.
package enum InternationalHost {
  /// The name of libidn2; tests pass another.
  package static let library = "libidn2.so.0"

  private typealias LookUp =
    @convention(c) (
      UnsafePointer<UInt8>, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, Int32
    ) -> Int32
  private typealias Free = @convention(c) (UnsafeMutableRawPointer?) -> Void
  private typealias Describe = @convention(c) (Int32) -> UnsafePointer<CChar>?

  /// `IDN2_NFC_INPUT`, with `IDN2_NONTRANSITIONAL`, with `IDN2_TRANSITIONAL`.
  private static let flags: [Int32] = [1 | 8, 1 | 4]

  /// The encoded form of `host`.
  /// - Throws: `invalidRequest` where it is no valid name, or libidn2 cannot be loaded.
  package static func encoded(_ host: String, library: String = library) throws(DataServiceError) -> String {
    guard let handle = dlopen(library, RTLD_NOW | RTLD_LOCAL), let lookUp = dlsym(handle, "idn2_lookup_u8"),
      let release = dlsym(handle, "idn2_free")
    else {
      throw DataServiceError(
        .invalidRequest,
        "the host “\(host)” is not in ASCII, and libidn2, which encodes it, cannot be loaded",
        hint:
          "install it (on Debian the package libidn2-0), or write the encoded form, which begins with xn--")
    }
    var code: Int32 = 0
    for flags in flags {
      var encoded: UnsafeMutablePointer<UInt8>?
      code = host.withCString { text in
        text.withMemoryRebound(to: UInt8.self, capacity: host.utf8.count + 1) {
          unsafeBitCast(lookUp, to: LookUp.self)($0, &encoded, flags)
        }
      }
      defer { unsafeBitCast(release, to: Free.self)(encoded) }
      if code == 0, let encoded { return String(cString: encoded) }
    }
    let reason = dlsym(handle, "idn2_strerror").flatMap { unsafeBitCast($0, to: Describe.self)(code) }
    throw DataServiceError(
      .invalidRequest,
      "the host “\(host)” is no valid name: \(reason.map { String(cString: $0) } ?? "\(code)")",
      hint: "check its spelling")
  }
}
