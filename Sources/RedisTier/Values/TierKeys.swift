internal import DataService

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
