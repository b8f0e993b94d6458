/// The partition a request belongs to: no row of one account is ever delivered to another.
public struct Account: Sendable, Hashable {
  enum Kind: Sendable, Hashable {
    case automatic
    case named(String)
  }
  let kind: Kind

  /// The account that the request's credentials name through a keyed digest, or none where it carries none.
  public static let automatic = Account(kind: .automatic)

  /// An account of the caller's naming. The name replaces the digest: requests with other credentials but the same
  /// name share their rows, which is what makes a renewed token keep them.
  public static func named(_ name: String) -> Account { Account(kind: .named(name)) }
}

extension DataService {
  /// ``Account``, for a program that has a type of that name: the class stands before the module in `DataService.Account`.
  public typealias Account = DataService::Account
}
