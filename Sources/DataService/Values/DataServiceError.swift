package import CacheStore
public import PlatformFoundation

/// Why a load, or an operation on the store, did not do what was asked.
public struct DataServiceError: Error {
  /// What went wrong, to act on. An open set: later releases may add kinds, so compare with the static members.
  public struct Kind: Sendable, Hashable {
    /// The name used in JSON output and in logs, such as `refused` or `timeout(connect)`.
    public let name: String
    package init(_ name: String) { self.name = name }
  }

  /// The parts of an error. Behind one reference, so that what may hold an error (a delivery, a result, whatever throws
  /// one) is no larger for it.
  private final class Parts: Sendable {
    let kind: Kind
    let status: Int?
    let retryAfter: Duration?
    let message: String
    let remedy: Remedy?
    let underlying: (any Error)?
    let answered: (any AnyObject & Sendable)?

    init(
      _ kind: Kind, _ message: String, remedy: Remedy?, status: Int?, underlying: (any Error)?,
      retryAfter: Duration?, answered: (any AnyObject & Sendable)?
    ) {
      self.kind = kind
      self.message = message
      self.remedy = remedy
      self.status = status
      self.underlying = underlying
      self.retryAfter = retryAfter
      self.answered = answered
    }
  }

  private let parts: Parts

  /// What went wrong.
  public var kind: Kind { parts.kind }
  /// The response's status where one was received.
  public var status: Int? { parts.status }
  /// How long after the failure the origin asks clients to wait (`Retry-After`), for the kinds `status` and `paused`;
  /// `nil` where it did not ask. A load caps it at one hour.
  public var retryAfter: Duration? { parts.retryAfter }
  /// One line for a person; never holds a secret of the request.
  public var message: String { parts.message }
  /// What the person can do about it, or `nil`.
  package var remedy: Remedy? { parts.remedy }
  /// The cause, where it came from another library.
  public var underlying: (any Error)? { parts.underlying }
  /// The value of ``response``, type-erased because a response's own type depends on this one.
  var answered: (any AnyObject & Sendable)? { parts.answered }

  /// The remedy's words, which hold in every program.
  public var hint: String? { remedy?.text }

  /// Makes an error; transports use it.
  public init(
    _ kind: Kind, _ message: String, hint: String? = nil, status: Int? = nil, underlying: (any Error)? = nil
  ) {
    self.init(kind, message, remedy: hint.map { Remedy($0) }, status: status, underlying: underlying)
  }

  package init(
    _ kind: Kind, _ message: String, remedy: Remedy?, status: Int? = nil, underlying: (any Error)? = nil,
    retryAfter: Duration? = nil, answered: (any AnyObject & Sendable)? = nil
  ) {
    parts = Parts(
      kind, message, remedy: remedy, status: status, underlying: underlying, retryAfter: retryAfter,
      answered: answered)
  }
}

extension DataServiceError {
  /// The same error with another remedy.
  func advising(_ remedy: Remedy) -> Self {
    Self(
      kind, message, remedy: remedy, status: status, underlying: underlying, retryAfter: retryAfter,
      answered: answered)
  }
}

extension DataServiceError: CustomStringConvertible {
  /// The kind, the message and what to do about it, on one line.
  public var description: String {
    "\(kind.name): \(message)" + (hint.map { "; \($0)" } ?? "")
  }
}

extension DataServiceError: LocalizedError {
  /// The message, which `localizedDescription` then is.
  public var errorDescription: String? { message }
  /// The hint.
  public var recoverySuggestion: String? { hint }
}

extension DataServiceError {
  /// Whether the load, or the task that waited for it, was cancelled, so that there is nothing to tell anyone.
  public var isCancelled: Bool { kind == .cancelled }
  /// Whether there is no network, as far as can be told.
  public var isOffline: Bool { kind == .offline }
  /// Whether something took too long, whichever part of the exchange it was.
  public var isTimeout: Bool { kind.isTimeout }
  /// Whether the same request may succeed later without anyone's action: the network, or the origin's own trouble.
  public var isRetryable: Bool {
    if kind == .status { return status.map(Self.isPassing) ?? true }
    return kind.isConnectivity || kind.isTimeout
      || [.proxy, .truncated, .paused].contains(kind)
  }
}

extension DataServiceError {
  /// Whether the status says that the answer is not available now.
  static func isPassing(status: Int) -> Bool { status == 408 || status == 429 || status >= 500 }

  /// For a stored response that the caller's decoder refuses.
  static func storedUndecodable(of authority: String, underlying: any Error) -> DataServiceError {
    DataServiceError(
      .undecodable, "the stored response of \(authority) does not decode any more",
      hint: "a fresh response that does replaces it", underlying: underlying)
  }

  /// For a task that was cancelled.
  static var cancelledTask: DataServiceError {
    DataServiceError(.cancelled, "the task was cancelled", underlying: CancellationError())
  }
}

extension DataServiceError.Kind: CustomStringConvertible {
  /// The name.
  public var description: String { name }
  /// Whether it is a time limit's, of whichever part of an exchange.
  public var isTimeout: Bool { name.hasPrefix("timeout(") }
  /// Whether it is TLS's, for whatever reason.
  public var isTLS: Bool { name.hasPrefix("tls(") }
}

extension DataServiceError.Kind {
  /// The part of an exchange that took too long.
  public enum Phase: String, Sendable, Hashable { case connect, firstByte, idle, total, deadline }

  /// There is no network.
  public static let offline = Self("offline")
  /// The host's name was not found.
  public static let dns = Self("dns")
  /// The host refused the connection.
  public static let refused = Self("refused")
  /// No route leads to the host.
  public static let unreachable = Self("unreachable")
  /// The connection was reset or closed before the answer's head was whole.
  public static let disconnected = Self("disconnected")
  /// A phase took longer than its limit.
  public static func timeout(_ phase: Phase) -> Self { Self("timeout(\(phase.rawValue))") }
  /// TLS failed: `expired`, `wrongHost`, `untrusted`, `handshake` and the like.
  public static func tls(_ reason: String) -> Self { Self("tls(\(reason))") }
  /// The proxy failed.
  public static let proxy = Self("proxy")
  /// The answer breaks HTTP's rules.
  public static let `protocol` = Self("protocol")
  /// The body ended before it was whole.
  public static let truncated = Self("truncated")
  /// The answer was larger than a limit.
  public static let tooLarge = Self("tooLarge")
  /// More redirects than the limit.
  public static let tooManyRedirects = Self("tooManyRedirects")
  /// The status says that the answer is not available now (408, 429, 5xx), or the request does not accept it.
  public static let status = Self("status")
  /// The origin asked for a pause (`Retry-After`).
  public static let paused = Self("paused")
  /// Another server seems to have answered in the origin's place: a temporary redirect led to another host, and the
  /// stored response did not come that way.
  public static let portal = Self("portal")
  /// The answer has none of the media types that the request accepts.
  public static let mediaType = Self("mediaType")
  /// The caller's decoder refused the answer.
  public static let undecodable = Self("undecodable")
  /// The account was signed out meanwhile.
  public static let signedOut = Self("signedOut")
  /// Nothing is stored that the policy could deliver.
  public static let notStored = Self("notStored")
  /// The load was cancelled.
  public static let cancelled = Self("cancelled")
  /// libcurl is not installed.
  public static let libraryMissing = Self("libraryMissing")
  /// The request itself is wrong: URL, method, field.
  public static let invalidRequest = Self("invalidRequest")
  /// The store cannot be used.
  public static let store = Self("store")
  /// Stored bytes did not match their checksum.
  public static let corrupt = Self("corrupt")
  /// The body was replaced while it was read, and its room was needed.
  public static let replaced = Self("replaced")
  /// The service was closed.
  public static let closed = Self("closed")
  /// Everything else.
  public static let other = Self("other")

  /// Whether the failure means that the network is missing, not the origin.
  public var isConnectivity: Bool {
    isBeforeSending || self == .disconnected
  }

  /// Whether the failure came before a byte of the request was sent.
  var isBeforeSending: Bool {
    [.offline, .dns, .refused, .unreachable, .timeout(.connect)].contains(self)
  }
}

extension DataServiceError {
  /// The service's error for an error of the store.
  package init(store error: CacheStoreError) {
    let kind: Kind =
      switch error.reason {
      case .corrupt: .corrupt
      case .replaced: .replaced
      case .signedOut: .signedOut
      case .closed: .closed
      default: .store
      }
    self.init(kind, error.message, remedy: error.remedy, underlying: error)
  }
}
