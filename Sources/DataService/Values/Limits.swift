/// What one load may cost before it is given up (law 13); each limit fails with an error that names it.
public struct Limits: Sendable, Hashable {
  /// The largest decoded body taken from the network, in bytes. What is stored is always delivered.
  public var bodyBytes: Int64 = 256 << 20
  /// The largest body handed over as `Data`, in bytes; larger ones need ``DataService/streams(for:policy:progress:)``.
  public var dataBytes: Int64 = 32 << 20
  /// The largest field section of an answer, its 1xx heads included, in bytes; a larger one fails with `protocol`.
  public var fieldSectionBytes = 256 << 10
  /// The largest number of fields, counted likewise; more fail with `protocol`.
  public var fieldCount = 1_000
  /// The largest number of redirects followed; 0 delivers the first redirect itself.
  public var redirects = 10
  /// How long making the connection may take, name lookup and TLS included.
  public var connectTimeout: Duration = .seconds(5)
  /// How long the first byte of the answer may take once the request is sent.
  public var firstByteTimeout: Duration = .seconds(30)
  /// How long the network may be silent in the middle of an answer.
  public var idleTimeout: Duration = .seconds(30)
  /// How long the whole load may take, retries and redirects included.
  public var totalTimeout: Duration = .seconds(600)
  /// How many times a GET, a HEAD or a marked read is tried again after a failure that may pass.
  public var retries = 2

  /// The default limits.
  public init() {}
}

extension DataService {
  /// ``Limits``, for a program that has a type of that name.
  public typealias Limits = DataService::Limits
}
