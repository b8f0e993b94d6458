internal import CacheStore
internal import DataService

extension StoreCommands {
  /// `limits`: shows the store's limits and their use; with options, it sets limits first.
  func limits() throws(UsageError) -> ExitStatus {
    let change = try LimitsChange(arguments)
    if change.isNone, let missing = missing() { return missing }
    let (service, store) = (service, service.store)
    return run { () async throws(DataServiceError) -> LimitsReport in
      var removed: Int?
      if !change.isNone {
        removed = try await service.setLimits(change.applied(to: try await service.limits().own))
      }
      let (own, inForce) = try await service.limits()
      do throws(CacheStoreError) {
        return LimitsReport(own: own, inForce: inForce, use: try await store.use(), removed: removed)
      } catch {
        throw DataServiceError(store: error)
      }
    } then: { report in
      Output.write(
        arguments.has(.json) ? report.line() : Array(report.text(now: now).utf8), diagnostics)
    }
  }
}

/// The limits that `limits` is to set.
struct LimitsChange: Equatable {
  /// A limit as given: `nil` leaves it unchanged, `none` removes it.
  enum Value<Limit: Equatable & Sendable>: Equatable {
    case none
    case set(Limit)
  }

  var bytes: Value<Int64>?
  var rows: Value<Int>?
  var age: Value<Duration>?

  /// The smallest useful limit.
  private static let fewestBytes: Int64 = 1 << 20

  init(_ arguments: Arguments) throws(UsageError) {
    if arguments.text(.bytes) == "none" { bytes = Value.none }
    if arguments.text(.rows) == "none" { rows = Value.none }
    if arguments.text(.olderThan) == "none" { age = Value.none }
    if let size = arguments.size(.bytes) {
      guard size >= Self.fewestBytes else {
        throw UsageError("--bytes is less than a store needs for itself", "write 1M or more, or none")
      }
      bytes = .set(size)
    }
    if let count = arguments.count(.rows) { rows = .set(count) }
    if let duration = arguments.duration(.olderThan) {
      guard duration >= .seconds(1) else {
        throw UsageError("--older-than of less than a second keeps nothing", "write 1s or more, or none")
      }
      age = .set(duration)
    }
  }

  /// Whether no limit is to be set.
  fileprivate var isNone: Bool { bytes == nil && rows == nil && age == nil }

  /// The limits with the given ones changed.
  func applied(to limits: StoreLimits) -> StoreLimits {
    StoreLimits(
      maximumBytes: Self.applied(bytes, limits.maximumBytes),
      maximumRows: Self.applied(rows, limits.maximumRows), maximumAge: Self.applied(age, limits.maximumAge))
  }

  private static func applied<Limit>(_ value: Value<Limit>?, _ old: Limit?) -> Limit? {
    switch value {
    case nil: old
    case Value.none?: nil
    case .set(let new)?: new
    }
  }
}
