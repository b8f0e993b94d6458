import PlatformC
import PlatformFoundation
import TestSupport

/// Plays interleavings of loads, cancels, removals, sign-outs and a slow disk on the real service, one after the other.
///
///     Interleavings COUNT [FIRST]       the seeds from FIRST on, by default 1
///     Interleavings trace SEED [COUNT]  one of them, or so many from it on, with all that happens
///
/// `SWIFT_DETERMINISTIC_HASHING=1` makes a seed the same in every process.
@main package enum Interleavings {
  /// A law that was broken, by which seed first, and by how many.
  package typealias Finding = (law: String, seed: UInt64, count: Int)

  static func main() throws {
    let arguments = CommandLine.arguments.dropFirst()
    let numbers = arguments.compactMap { UInt64($0) }
    guard let number = numbers.first else {
      print("usage: Interleavings COUNT [FIRST] | trace SEED [COUNT]")
      exit(64)
    }
    let isTraced = arguments.first == "trace"
    let other = numbers.dropFirst().first ?? 1
    let (first, count) = isTraced ? (number, other) : (other, number)
    let began = ContinuousClock.now
    let findings = try play(first..<(first + count), isTraced: isTraced)
    for finding in findings { print(describe(finding)) }
    print("interleavings: \(count) from seed \(first) in \(ContinuousClock.now - began)")
    if !findings.isEmpty { exit(1) }
  }

  package static func describe(_ finding: Finding) -> String {
    "seed \(finding.seed), the first of \(finding.count): \(finding.law)"
  }

  /// Plays these seeds, on a thread of the caller's that may block.
  package static func play(_ seeds: Range<UInt64>, isTraced: Bool = false) throws -> [Finding] {
    var found: [String: (seed: UInt64, count: Int)] = [:]
    var stage: Stage?
    var isOver = false
    func note(_ laws: some Sequence<String>, _ seed: UInt64) {
      for law in laws { found[law, default: (seed, 0)].count += 1 }
    }
    func leave(_ seed: UInt64) throws {
      if let stage, try !stage.close(isPatient: found.isEmpty) { note(["a file is left open"], seed) }
      stage = nil
    }
    for seed in seeds {
      // The first of these finds a store that has to be made; the others one that is open.
      if seed % 256 == 0 || isOver { try leave(seed) }
      let now = try stage ?? Stage()
      if stage == nil, seed % 256 != 0 {
        now.random = SeededGenerator(seed: 0)
        Scene(0, on: now, isTraced: false).play()
      }
      stage = now
      now.random = SeededGenerator(seed: seed)
      let scene = Scene(seed, on: now, isTraced: isTraced)
      scene.play()
      note(scene.violations, seed)
      // What is left over would be the next seed's.
      isOver = scene.isClosed || !scene.violations.isEmpty
    }
    try leave(seeds.upperBound - 1)
    return found.map { ($0.key, $0.value.seed, $0.value.count) }.sorted { $0.law < $1.law }
  }
}
