package import CacheStore

extension DataService {
  /// Something the service did, for logs and metrics; see ``Configuration/onEvent``. It contains no secret of a
  /// request and no body.
  public struct Event: Sendable {
    /// The number of the exchange, counted from 1 in each service; `nil` for a delivery of a load.
    public let exchange: Int?
    /// The request's method.
    public let method: RequestMethod
    /// The request's URL, with secret query values replaced by digests.
    public let url: String
    /// How long ago the exchange, or the load, began.
    public let elapsed: Duration
    /// What happened.
    public let kind: Kind

    package init(exchange: Int?, method: RequestMethod, url: String, elapsed: Duration, kind: Kind) {
      self.exchange = exchange
      self.method = method
      self.url = url
      self.elapsed = elapsed
      self.kind = kind
    }

    /// What happened. Later releases may add cases, so give a switch a `default`.
    public enum Kind: Sendable {
      /// An exchange began. All loads of the same request share it. It ends with `answered`, `answeredByTier` or
      /// `failed`.
      case began
      /// The head of a response arrived, of a redirect or an error status too. Its body follows.
      case hop(Hop)
      /// The exchange will be retried after a pause, because of a failure of that kind or, with `status`, because of
      /// that status.
      case retrying(after: Duration, because: DataServiceError.Kind, status: Int?)
      /// Another process refreshed the row, and this exchange delivers what that process stored, without a hop.
      case followed
      /// The exchange ended without a hop: the row of the fleet's second tier was all that its loads wanted.
      case answeredByTier
      /// The exchange ended with an answer.
      case answered(Answered)
      /// The exchange ended without an answer, also when no load awaits it any more (`cancelled`).
      case failed(DataServiceError)
      /// A load delivered something, or a prefetch received it.
      case delivered(Delivered)
    }

    /// A request of an exchange, and the head of its response.
    public struct Hop: Sendable, Hashable {
      /// The URL requested: the request's own, or the target of a redirect. Secret query values are digests.
      public let url: String
      /// The response's status.
      public let status: Int
      /// The protocol of the response: `1.0`, `1.1` or `2`.
      public let version: String
      /// Whether the request was conditional on the stored response's validators.
      public let isConditional: Bool
      /// From handing the request to the transport until the head arrived: waiting for a connection's turn, name
      /// lookup, connecting, TLS and the origin's own time.
      public let untilHead: Duration

      package init(url: String, status: Int, version: String, isConditional: Bool, untilHead: Duration) {
        self.url = url
        self.status = status
        self.version = version
        self.isConditional = isConditional
        self.untilHead = untilHead
      }
    }

    /// The answer that an exchange ended with.
    public struct Answered: Sendable, Hashable {
      /// The status that is delivered: after a 304, the stored response's.
      public let status: Int
      /// The length of the decoded body in bytes; `nil` where it is not known when the exchange ends.
      public let bytes: Int64?
      /// How many redirects were followed.
      public let redirects: Int
      /// Whether a 304 confirmed the stored response.
      public let wasValidated: Bool
      /// Whether the answer is in the store, and if not, why.
      public let kept: Kept

      package init(status: Int, bytes: Int64?, redirects: Int, wasValidated: Bool, kept: Kept) {
        self.status = status
        self.bytes = bytes
        self.redirects = redirects
        self.wasValidated = wasValidated
        self.kept = kept
      }
    }

    /// What a load delivered.
    public enum Delivered: Sendable, Hashable {
      /// The stored response, with its age (``Response/age``).
      case stored(age: Duration)
      /// The fresh response, and how it compares with the stored one.
      case fresh(Change)
      /// A failure.
      case failure(DataServiceError.Kind)
    }
  }
}

extension DataService {
  /// Trouble that does not stop a delivery: a store that cannot be used, a damaged row, a stored value that no longer
  /// decodes.
  public struct Warning: Sendable, Hashable {
    /// What went wrong.
    public let kind: DataServiceError.Kind
    /// One line for a person; never holds a secret of the request.
    public let message: String
    /// What the person can do about it, or `nil`.
    package let remedy: Remedy?
    /// The remedy's words, which hold in every program.
    public var hint: String? { remedy?.text }
    /// Makes a warning by hand, for tests of programs that handle warnings.
    public init(_ kind: DataServiceError.Kind, _ message: String, hint: String? = nil) {
      self.init(kind: kind, message: message, remedy: hint.map { Remedy($0) })
    }

    package init(kind: DataServiceError.Kind, message: String, remedy: Remedy?) {
      self.kind = kind
      self.message = message
      self.remedy = remedy
    }
  }
}
