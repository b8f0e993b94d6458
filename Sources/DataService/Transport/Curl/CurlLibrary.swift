package import CCurl
internal import Guards
internal import PlatformC

/// A libcurl that has been loaded. One for each file name and process; never unloaded.
package final class CurlLibrary: Sendable {
  /// The functions. Points to a table that is written once, before other threads can see it.
  package nonisolated(unsafe) let table: OpaquePointer
  /// The version, such as `7.88.1`.
  let version: String
  /// Whether an easy handle may carry another exchange after its first.
  ///
  /// Before 8.1 a handle keeps a pointer to the last field of the previous response after freeing it. A response
  /// that begins with a continuation line makes libcurl write through that pointer (seen with 7.88.1).
  let mayReuseHandles: Bool
  /// Whether OpenSSL is what speaks TLS.
  let isOpenSSL: Bool

  private init(table: OpaquePointer) {
    self.table = table
    mayReuseHandles = ccurl_version_number(table) >= 0x08_01_00
    isOpenSSL = ccurl_tls_text(table).map { String(cString: $0).hasPrefix("OpenSSL/") } ?? false
    version = ccurl_version_text(table).map { String(cString: $0) } ?? "unknown"
  }

  /// - Throws: `other` where libcurl does not take an option.
  package func check(_ code: CURLcode) throws(DataServiceError) {
    guard code != CURLE_OK else { return }
    let text = ccurl_easy_strerror(table, code).map { String(cString: $0) } ?? ""
    throw DataServiceError(
      .other, "libcurl does not take an option: \(text)",
      underlying: CurlError(code: Int(code.rawValue), text: text))
  }

  private static let loaded = Guarded<[String: CurlLibrary]>([:])

  /// Loads libcurl, the first of the names between colons that there is, or returns it if already loaded. The first load takes about 6 ms; after a failure, the next
  /// call tries again.
  package static func load(_ name: String) throws(DataServiceError) -> CurlLibrary {
    let result: Result<CurlLibrary, DataServiceError> = loaded.withLock { loaded in
      if let library = loaded[name] { return .success(library) }
      let result = open(name)
      if case .success(let library) = result { loaded[name] = library }
      return result
    }
    return try result.get()
  }

  private static func open(_ name: String) -> Result<CurlLibrary, DataServiceError> {
    // On one processor, lets the thread that was just given another machine's row run first.
    sched_yield()
    var problem = [CChar](repeating: 0, count: 512)
    let names = name.split(separator: ":").map(String.init)
    // A later name that is missing too must not hide what is wrong with the first.
    var ignored = problem
    let others = { names.dropFirst().lazy.compactMap { ccurl_open($0, &ignored, ignored.count) }.first }
    guard let table = names.first.flatMap({ ccurl_open($0, &problem, problem.count) }) ?? others() else {
      let text = String(decoding: problem.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      return .failure(failure(text))
    }
    // CURLOPT_PREREQFUNCTION, new in 7.80.0, separates the connect phase from the wait for the first byte.
    guard ccurl_version_number(table) >= 0x07_50_00 else {
      ccurl_close(table)
      return .failure(missing("libcurl \(name) is older than 7.80"))
    }
    return .success(CurlLibrary(table: table))
  }

  /// Translates the loader's message, which is English because the program sets no locale.
  private static func failure(_ text: String) -> DataServiceError {
    if text.hasSuffix("Too many open files") || Descriptors.areUsedUp { return .tooManyOpenFiles }
    let isOfMemory = ["annot allocate", "failed to map", "out of memory"].contains { text.contains($0) }
    return isOfMemory
      ? DataServiceError(
        .other, "no memory to load libcurl: \(text)", hint: "raise the limit (ulimit -v)")
      : missing("libcurl could not be loaded: \(text)")
  }

  private static func missing(_ message: String) -> DataServiceError {
    DataServiceError(
      .libraryMissing, message,
      hint:
        "install libcurl: on Debian and Ubuntu the package libcurl4 (newer: libcurl4t64), on Fedora libcurl"
    )
  }
}

/// The settings of a ``CurlTransport``.
package struct CurlConfiguration: Sendable, Hashable {
  /// How many exchanges are under way at a time; further ones wait their turn.
  package var exchanges = DataService.ExchangeLimits()
  /// The `User-Agent` of requests without one.
  package var userAgent = "cachefetch/\(Version.string)"
  /// The library's file name; tests name one that does not exist.
  package var libraryName = "libcurl.so.4:libcurl-gnutls.so.4"

  /// The defaults.
  package init() {}
}
