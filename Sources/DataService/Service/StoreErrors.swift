package import CacheStore

extension DataServiceError {
  /// The service's error for an error of the store.
  package init(store error: CacheStoreError) {
    let kind: Kind =
      switch error.reason {
      case .corrupt: .corrupt
      case .replaced: .replaced
      case .signedOut: .signedOut
      case .closed: .closed
      default: .store
      }
    self.init(kind, error.message, remedy: error.remedy, underlying: error)
  }
}

extension DataService.KeptReason {
  /// The reason why a response is not stored, for an error of the store.
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
