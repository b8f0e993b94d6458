/// Which release this is.
package enum Release {
  /// The version (Semantic Versioning); sent in `User-Agent` as `cachefetch/VERSION`.
  package static let version = "0.1.0"
}
