internal import CacheStore
public import DataService
internal import PlatformFoundation

/// A service for tests, with everything that it usually gets from outside in the test's hands: its store is a file in a folder of its
/// own, its answers come from a ``ScriptedOrigin``, and its clock stands still until the test moves it.
///
/// A failure of the network is tried again after a pause, as ever: let it pass with ``VirtualClock/passing(longest:_:)``, or set
/// `limits.retries` to 0.
///
/// It is the service that programs use, with the real store: nothing of it is imitated but the network and the time.
///
/// ```swift
/// let test = try TestService()
/// test.origin.answer("https://api.example.com/news", with: try .json(News(edition: 1)))
/// let model = NewsModel(service: test.service)
/// ```
public final class TestService: Sendable {
  /// The service, to be handed to what is tested.
  public let service: DataService
  /// The origin that answers its requests.
  public let origin: ScriptedOrigin
  /// The service's clock.
  public let clock: VirtualClock
  /// The folder of its store: removed with this object, or by ``close()``.
  public let folder: String

  /// Makes the folder and the service; the store is made when the first request comes.
  ///
  /// - Parameters:
  ///   - clock: Another clock, such as one that the program under test has too.
  ///   - configure: Changes the configuration; the store's path, too.
  /// - Throws: What keeps the folder from being made.
  public init(
    clock: VirtualClock = VirtualClock(), configure: (inout DataService.Configuration) -> Void = { _ in }
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
    configuration.keepsStoreApart = false
    configuration.timeouts = .endless
    configure(&configuration)
    service = DataService(configuration: configuration, transport: origin)
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
