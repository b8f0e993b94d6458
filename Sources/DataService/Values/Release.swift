/// Which release this is.
public enum Release {
  /// The version (Semantic Versioning); sent in `User-Agent` as `cachefetch/VERSION`.
  public static let version = "0.1.0"
}
