internal import CacheStore
internal import DataService
internal import Guards
internal import PlatformFoundation
internal import RedisTier

/// A tier whose URL is read at its first use. One that cannot be used is silent, with one warning: no load fails for
/// it.
final class DeferredTier: SecondTier {
  typealias Make = @Sendable () throws(DataServiceError) -> any SecondTier

  private let source: String
  private let make: Make
  private let made = Guarded<Result<any SecondTier, DataServiceError>?>(nil)

  /// - Parameters:
  ///   - source: What names the tier, for messages.
  ///   - make: Reads the URL.
  init(source: String, make: @escaping Make) {
    self.source = source
    self.make = make
  }

  /// The engine, or what is wrong with its URL.
  private var engine: Result<any SecondTier, DataServiceError> {
    made.withLock { made in
      if let made { return made }
      let result: Result<any SecondTier, DataServiceError>
      do throws(DataServiceError) { result = .success(try make()) } catch {
        result = .failure(error)
      }
      made = result
      return result
    }
  }

  var terms: TierTerms {
    if case .success(let engine) = engine { return engine.terms }
    var unknown = TierTerms()
    unknown.isKnown = false
    return unknown
  }

  func attach(to host: TierHost) {
    switch engine {
    case .success(let engine): engine.attach(to: host)
    case .failure(let error):
      host.warn(
        .init(
          kind: error.kind, message: "no second tier: \(source): \(error.message)", remedy: error.remedy))
    }
  }

  func ask(_ question: TierQuestion) async -> TierReply {
    switch engine {
    case .success(let engine): await engine.ask(question)
    case .failure(let error): .silent(because: error.message)
    }
  }

  func body(of row: TierRow, for question: TierQuestion) async -> Data? {
    await (try? engine.get())?.body(of: row, for: question)
  }

  func offer(_ offer: TierOffer) async -> TierOffered {
    switch engine {
    case .success(let engine): await engine.offer(offer)
    case .failure(let error): .refused(because: error.message)
    }
  }

  func invalidate(_ question: TierQuestion) async -> Bool {
    await (try? engine.get())?.invalidate(question) ?? false
  }

  func pause(_ milliseconds: Int64, _ question: TierQuestion) async {
    await (try? engine.get())?.pause(milliseconds, question)
  }

  func signOut(_ account: String) async -> Bool {
    await (try? engine.get())?.signOut(account) ?? false
  }

  func examine() async -> [StoreFinding] {
    switch engine {
    case .success(let engine): await engine.examine()
    case .failure(let error):
      [StoreFinding(source, .wrong, error.message + (error.advice.map { "; \($0)" } ?? ""))]
    }
  }

  func close() { if case .success(let engine)? = made.withLock({ $0 }) { engine.close() } }
}

/// The fleet's second tier of a command line: `--tier`, else `$CACHEFETCH_TIER`, else none.
///
/// What the variable says is read when an exchange begins, so that a command that the store answers never looks at it.
enum TierChoice {
  /// The variable that names the tier.
  static let variable = "CACHEFETCH_TIER"

  /// Throws unless the value of `--tier` is a URL of a tier.
  static func check(_ url: String) throws(UsageError) {
    do throws(DataServiceError) {
      _ = try DataService.Tier.redis(url)
    } catch {
      throw UsageError(
        "--tier: \(error.message)",
        error.advice ?? "write --tier redis://HOST:PORT/DB?key-file=FILE")
    }
  }
}

extension Arguments {
  /// The URL of the server that machines share, which the option or the environment names; `nil` for none.
  func server(_ environment: (String) -> String? = Environment.value) -> String? {
    if has(.noTier) { return nil }
    return text(.tier) ?? environment(TierChoice.variable).flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The files that its URL names, which the network's thread must be able to read.
  func serverFiles(_ environment: (String) -> String?) -> [String] {
    guard let url = server(environment), let parts = URLComponents(string: url) else { return [] }
    let named = (parts.queryItems ?? []).filter { $0.name.hasSuffix("-file") }.compactMap(\.value)
    return named + (parts.scheme == "redis+unix" ? [parts.path] : [])
  }

  /// Throws unless there is a server for `--fleet`.
  func requireServer() throws(UsageError) {
    guard has(.fleet), server() == nil else { return }
    throw UsageError("--fleet needs a server that machines share", "name it with --tier URL")
  }

  /// How a command that is proposed names the server.
  var repeatedServer: String { has(.tier) ? " with the same --tier" : "" }

  /// The tier, for a service.
  var tier: DataService.Tier? {
    guard let url = server() else { return nil }
    let source = has(.tier) ? "--tier" : "$" + TierChoice.variable
    return DataService.Tier {
      DeferredTier(source: source) { () throws(DataServiceError) in try RedisTier.engine(url) }
    }
  }
}
