internal import CCurl
package import CacheStore

/// The transport of a service that is given none, over libcurl. `SystemTransport+Portable.swift` has another under this name,
/// for the portable build and Apple's systems.
package enum SystemTransport {
  /// Its name and version, such as `libcurl 7.88.1 (OpenSSL/3.0.15, HTTP/2, gzip, brotli)`; loads the library.
  /// - Throws: `libraryMissing` if libcurl is not installed, with a hint how to install it.
  package static func version() throws(DataServiceError) -> String {
    let library = try CurlLibrary.load(CurlConfiguration().libraryName)
    var details = [CChar](repeating: 0, count: 256)
    ccurl_version_details(library.table, &details, details.count)
    let text = String(decoding: details.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return "libcurl \(library.version) (\(text))"
  }

  /// Whether a load with those options has certificate authorities to verify a server with; `nil` where that is not known.
  package static func authorities(_ options: ConnectionOptions) -> StoreFinding? {
    // Where it is missing, that is a finding of its own.
    guard let library = try? CurlLibrary.load(CurlConfiguration().libraryName) else { return nil }
    var (file, folder): (UnsafePointer<CChar>?, UnsafePointer<CChar>?)
    ccurl_authorities(library.table, &file, &folder)
    return SystemAuthorities.finding(
      named: options.certificateAuthorityFile, file: file.map { String(cString: $0) },
      folder: options.certificateAuthorityFolder ?? folder.map { String(cString: $0) })
  }

  /// Makes one that performs at most `exchanges` at once.
  static func make(exchanges: DataService.ExchangeLimits, thread: NetworkThread, timekeeper: any Timekeeper)
    -> any Transport
  {
    var configuration = CurlConfiguration()
    configuration.exchanges = exchanges
    return CurlTransport(configuration: configuration, thread: thread, timekeeper: timekeeper)
  }

  /// The thread that a caller's transport has.
  static func thread(of transport: (any Transport)?) -> NetworkThread? {
    (transport as? CurlTransport)?.thread
  }
}
