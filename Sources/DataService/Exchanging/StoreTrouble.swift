package import CacheStore

extension DataServiceError {
  /// The error a caller of the service sees for an error of the store.
  package init(store error: CacheStoreError) {
    let kind: Kind =
      switch error.reason {
      case .corrupt: .corrupt
      case .replaced: .replaced
      case .signedOut: .signedOut
      case .closed: .closed
      default: .store
      }
    self.init(kind, error.message, hint: Self.hint(for: error.reason), underlying: error)
  }

  private static func hint(for reason: CacheStoreError.Reason) -> String? {
    switch reason {
    case .busy: "try again"
    case .full: "free some disk space, or name another store with --store"
    case .readOnly, .cannotOpen: "name one you may write with --store or $CACHEFETCH_STORE"
    case .newerSchema: "it was left alone; use the newer release, or name another with --store"
    case .foreignFile: "it was left alone; name another with --store"
    case .corrupt: "run “cachefetch doctor --repair”"
    default: nil
    }
  }
}

extension DataService.KeptReason {
  /// Why a response is not kept, for an error of the store.
  init(_ error: CacheStoreError) {
    switch error.reason {
    case .busy: self = .busy
    case .full: self = .full
    case .readOnly: self = .readOnly
    case .corrupt: self = .corrupt
    case .signedOut: self = .signedOut
    default: self = .unusable
    }
  }
}
