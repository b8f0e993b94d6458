// Another library, or a module of the application: types named as some of `DataService` are.

/// As in swift-http-types.
public struct HTTPFields: Equatable {
  /// No fields.
  public init() {}
}

/// Somebody who has signed in.
public struct Account {}
/// What failed.
public struct DataServiceError: Error {}
/// As a client of GraphQL has it.
public enum FetchPolicy { case cacheFirst }
/// What may be spent.
public struct Limits {}
/// As a client of HTTP has it.
public enum RequestMethod { case get }
/// What carries messages.
public protocol Transport {}
