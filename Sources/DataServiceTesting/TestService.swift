internal import CacheStore
public import DataService
internal import PlatformFoundation

/// A service whose surroundings a test controls: its store is a file in a folder of its own, its answers come from a
/// ``ScriptedOrigin``, and its clock stands still until the test advances it.
///
/// The service tries again after a 503 and most failures of the network, with pauses, as always (`offline` is asked
/// once): skip them with ``VirtualClock/passing(longest:_:)``, or set `limits.retries` to 0.
///
/// The service and the store are the real ones; only the network and the time are simulated.
///
/// ```swift
/// let test = try TestService()
/// test.origin.answer("https://api.example.com/news", with: try .json(News(edition: 1)))
/// let model = NewsModel(service: test.service)
/// ```
public final class TestService: Sendable {
  /// The service, for the code under test.
  public let service: DataService
  /// The origin that answers its requests, unless another transport does.
  public let origin: ScriptedOrigin
  /// The service's clock.
  public let clock: VirtualClock
  /// The folder of the store; ``close()`` removes it, and so does this object's end.
  public let folder: String

  /// Makes the folder and the service. The first request makes the store.
  ///
  /// - Parameters:
  ///   - clock: Another clock, for example one that the program under test uses as well.
  ///   - transport: What answers in place of ``origin``. What it waits for passes on the virtual clock only if it has that.
  ///   - configure: Changes the configuration, which includes the store's path.
  /// - Throws: An error if the folder cannot be made.
  public init(
    clock: VirtualClock = VirtualClock(), transport: (any Transport)? = nil,
    configure: (inout DataService.Configuration) -> Void = { _ in }
  ) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "cachefetch-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    self.folder = folder.path
    self.clock = clock
    origin = ScriptedOrigin(clock: clock)
    var configuration = DataService.Configuration(
      store: StoreConfiguration(path: folder.appending(path: "store.sqlite").path))
    configuration.timekeeper = clock
    configuration.store.now = { clock.wallMilliseconds }
    // With a clock that stands still or jumps, timeouts on the store's threads would decide the test's outcome.
    configuration.timeouts = .endless
    // The longest of the pauses that differ from client to client.
    configuration.random = { 1 }
    configure(&configuration)
    service = DataService(configuration: configuration, transport: transport ?? origin)
  }

  deinit { removeFolder() }

  /// Ends the service's work and removes the folder.
  public func close() async {
    await service.close()
    removeFolder()
  }

  private func removeFolder() {
    // A failure does no harm: the folder is in the system's temporary directory.
    try? FileManager.default.removeItem(atPath: folder)
  }
}
