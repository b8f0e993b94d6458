internal import DataService
internal import PlatformFoundation

/// The fleet's keys, each with what it names and seals. The first seals, all open.
struct TierKeys: Sendable {
  /// One of the keys.
  struct Key: Sendable {
    let names: TierNames
    let seal: Seal
    /// The variant of a GET none of whose fields `Vary` names, as is usual.
    private let usualVariant: String

    init(_ key: FleetKey) {
      names = TierNames(key)
      usualVariant = names.variant(of: TierQuestion(target: ""), vary: "")
      seal = Seal(key)
    }

    /// The variant of a request none of whose fields `Vary` names.
    func plainVariant(of question: TierQuestion) -> String {
      let isUsual = question.method == "GET" && question.extra.isEmpty && question.body == nil
      return isUsual ? usualVariant : names.variant(of: question, vary: "")
    }
  }

  let first: Key
  /// All of them, the first included.
  let all: [Key]

  init?(_ keys: [FleetKey]) {
    let all = keys.map(Key.init)
    guard let first = all.first else { return nil }
    (self.first, self.all) = (first, all)
  }
}

/// The keys of a shared account: a random one for each of the fleet's keys. The tier itself stores it, sealed
/// with that key of the fleet.
///
/// They name and seal the account's rows. Once they are gone from the tier, nobody can read these rows again:
/// that is how an account is signed out.
struct AccountKeys: Sendable {
  /// The sealed keys, in the order of the fleet's keys; `nil` where the tier has none.
  private let sealed: [[UInt8]?]
  /// The same, opened; `nil` where one does not open.
  private let opened: [TierKeys.Key?]
  /// Distinguishes them from those before and after a sign-out, for tickets.
  let number: Int

  /// - Parameter open: Opens the one beside the fleet's key of this index.
  init(_ sealed: [[UInt8]?], number: Int, open: (Int, [UInt8]) -> TierKeys.Key?) {
    self.sealed = sealed
    self.number = number
    opened = sealed.enumerated().map { index, value in value.flatMap { open(index, $0) } }
  }

  /// The key that seals; `nil` where there is none.
  var first: TierKeys.Key? { opened.first ?? nil }

  /// Those that open.
  var all: [TierKeys.Key] { opened.compactMap(\.self) }

  /// Whether the tier still has these keys.
  func isSame(as sealed: [[UInt8]?]) -> Bool { self.sealed == sealed }

  /// A new key, sealed.
  static func generate(with key: TierKeys.Key, at place: Seal.Place) -> [UInt8] {
    key.seal.sealed(FleetKey.random().bytes, at: place)
  }

  /// Opens a sealed key; `nil` where it was sealed with another key of the fleet, or changed.
  static func opened(_ sealed: [UInt8], with key: TierKeys.Key, at place: Seal.Place) -> TierKeys.Key? {
    guard let bytes = key.seal.opened(sealed, at: place), bytes.count == FleetKey.length else { return nil }
    return TierKeys.Key(FleetKey(bytes: bytes))
  }
}
