/// Which release of the library, and of the command, this is.
public enum Version {
  /// By Semantic Versioning; sent in `User-Agent` as `cachefetch/VERSION`.
  public static let string = "0.1.0"
}
