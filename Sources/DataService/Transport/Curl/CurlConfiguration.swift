#if os(Linux) && !PORTABLE
  /// The settings of a ``CurlTransport``.
  package struct CurlConfiguration: Sendable, Hashable {
    /// The largest number of exchanges with one host at a time; further ones wait their turn.
    package var exchangesPerHost = 6
    /// The largest number of exchanges at a time.
    package var exchangesInAll = 32
    /// The `User-Agent` of requests without one.
    package var userAgent = "cachefetch/\(Release.version)"
    /// The library's file name; tests name one that does not exist.
    package var libraryName = "libcurl.so.4"

    /// The defaults.
    package init() {}
  }
#endif
