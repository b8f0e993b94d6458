public final class DataService: Sendable { public init() {} }
