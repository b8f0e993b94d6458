#if os(Linux) && !PORTABLE
  internal import CCurl
#endif

/// The name and version of the transport, for the version line.
package enum TransportVersion {
  /// Such as `libcurl 7.88.1 (OpenSSL/3.0.15, HTTP/2, gzip, brotli)`; loads the library.
  /// - Throws: `libraryMissing` if libcurl is not installed, with a hint how to install it.
  package static func text() throws(DataServiceError) -> String {
    #if os(Linux) && !PORTABLE
      let library = try CurlLibrary.load(CurlConfiguration().libraryName)
      var details = [CChar](repeating: 0, count: 256)
      ccurl_version_details(library.table, &details, details.count)
      let text = String(decoding: details.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      return "libcurl \(library.version) (\(text))"
    #else
      return "URLSession"
    #endif
  }
}
