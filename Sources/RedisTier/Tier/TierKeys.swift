internal import DataService

/// The fleet's keys, each with what it names and seals. The first seals, all open.
struct TierKeys: Sendable {
  /// One of the keys.
  struct Key: Sendable {
    let names: TierNames
    let seal: Seal

    init(_ key: FleetKey) {
      names = TierNames(key)
      seal = Seal(key)
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
