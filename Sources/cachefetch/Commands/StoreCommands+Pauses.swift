internal import CacheStore
internal import DataService

extension StoreCommands {
  /// Ends the pauses (`Retry-After`) of the origins that URLs and `--host` name, whether or not anything of them is stored:
  /// whoever removes what is stored of an origin wants to ask it again.
  func endPauses() async throws(DataServiceError) {
    var origins: [String] = []
    for operand in arguments.operands {
      if let url = try? NormalisedURL(operand) { origins.append(url.origin) }
    }
    let host = arguments.text(.host)?.lowercased()
    guard !origins.isEmpty || host != nil else { return }
    let (account, named) = (arguments.text(.account), origins)
    let ended = try await service.endPauses { pause in
      guard account == nil || pause.account == account else { return false }
      return named.contains(pause.origin) || host.map { Self.isHost($0, of: pause.origin) } ?? false
    }
    if ended > 0 {
      diagnostics.say("\(ended == 1 ? "a pause is" : "\(ended) pauses are") over: it asks again")
    }
  }

  /// Whether an origin is of a host, on any port unless one is given.
  private static func isHost(_ host: String, of origin: String) -> Bool {
    guard let url = try? NormalisedURL(origin) else { return false }
    return [url.host, url.authority, "\(url.host):\(url.port)"].contains(host)
  }
}
