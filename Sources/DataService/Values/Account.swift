/// The partition a request belongs to: no row of one account is ever delivered to another.
public struct Account: Sendable, Hashable {
  enum Kind: Sendable, Hashable {
    case automatic
    case named(String)
  }
  let kind: Kind

  /// The account that a keyed digest of the request's credentials names; none if it carries none.
  public static let automatic = Account(kind: .automatic)

  /// An account that the caller names. The name replaces the digest: requests with other credentials but the same name
  /// share their rows, so a renewed token keeps them. With an empty name, or one that has a control character in it,
  /// the load fails with `invalidRequest`.
  public static func named(_ name: String) -> Account { Account(kind: .named(name)) }
}

extension DataService {
  /// ``Account``, for a program that has a type of that name: in `DataService.Account` the class hides the module.
  public typealias Account = DataService::Account
}
