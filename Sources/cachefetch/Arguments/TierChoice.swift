internal import DataService
internal import PlatformFoundation
internal import RedisTier

/// The fleet's second tier of a command line: `--tier`, else `$CACHEFETCH_TIER`, else none.
///
/// What the variable says is read when an exchange begins, so that a command that the store answers never looks at it.
enum TierChoice {
  /// The variable that names the tier.
  static let variable = "CACHEFETCH_TIER"

  /// Throws unless the value of `--tier` is a URL of a tier.
  static func check(_ url: String) throws(UsageError) {
    do throws(DataServiceError) {
      _ = try DataService.Tier.redis(url)
    } catch {
      throw UsageError(
        "--tier: \(error.message)",
        error.advice ?? "write --tier redis://HOST:PORT/DB?key-file=FILE")
    }
  }

  /// The files that the URL names, which the network's thread must be able to read.
  static func files(in url: String) -> [String] {
    guard let parts = URLComponents(string: url) else { return [] }
    let named = (parts.queryItems ?? []).filter { $0.name.hasSuffix("-file") }.compactMap(\.value)
    return named + (parts.scheme == "redis+unix" ? [parts.path] : [])
  }
}

extension Arguments {
  /// The URL that the option or the environment names; `nil` for no tier.
  func tierURL(_ environment: (String) -> String? = Environment.value) -> String? {
    if has(.noTier) { return nil }
    return text(.tier) ?? environment(TierChoice.variable).flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The tier, for a service.
  var tier: DataService.Tier? {
    guard let url = tierURL() else { return nil }
    let source = has(.tier) ? "--tier" : "$" + TierChoice.variable
    return DataService.Tier {
      DeferredTier(source: source) { () throws(DataServiceError) in try .redis(url) }
    }
  }
}
