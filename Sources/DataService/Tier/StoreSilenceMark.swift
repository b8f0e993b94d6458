package import CacheStore

/// The tier's silence, shared by all processes on a store beside its leases.
package struct StoreSilenceMark: TierSilenceMark {
  private let store: ResponseStore

  /// The mark of a store.
  package init(_ store: ResponseStore) { self.store = store }

  package func read() -> Int64 { store.tierMark }
  package func write(_ value: Int64) { store.setTierMark(value) }
}
