package import DataService

extension RedisTier {
  nonisolated(nonsending) package func examine() async -> [TierFinding] { [] }
}
