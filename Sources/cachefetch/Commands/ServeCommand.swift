internal import CacheStore
internal import DataService
internal import PlatformC

/// Carries out `serve`: one process a store, which keeps connections for commands and programs that ask it.
enum ServeCommand {
  static func run(_ arguments: Arguments, _ diagnostics: Diagnostics) throws(UsageError) -> ExitStatus {
    // Requests bring credentials.
    ProcessStart.keepMemoryPrivate()
    let service = DataService.forCommand(arguments, diagnostics)
    // What is wrong with the options of its requests is said now.
    _ = try RequestArguments(arguments)
    do {
      return try serve(service, arguments, diagnostics)
    } catch let error as OutputError {
      diagnostics.say(error)
    } catch {
      diagnostics.say((error as? CacheStoreError)?.message ?? "\(error)")
    }
    return .inputOutput
  }

  private static func serve(
    _ service: DataService, _ arguments: Arguments, _ diagnostics: Diagnostics
  ) throws -> ExitStatus {
    let store = StoreLocation.path(arguments)
    let terms = ServeTerms(arguments, try DigestKey.loadOrCreate(nextTo: store))
    guard let lease = try service.store.tryServing() else {
      diagnostics.say("another process serves \(store) already; end that first")
      return .inputOutput
    }
    defer { lease.release() }
    let path = ServeSocket.path(besides: store)
    let inherited = ServeSocket.inherited()
    let listener = try inherited ?? ServeSocket.listening(at: path)
    let identity = ServeSocket.identity(at: path)
    var wasThere = false
    var limits = Server.Limits()
    if let idle = arguments.duration(.idle) { limits.idle = idle }
    func isOurs() -> Bool { identity == ServeSocket.identity(at: path) }
    func leave() { if inherited == nil, isOurs() { unlink(path) } }
    let server = Server(listener, service, terms, limits: limits, leave: leave) {
      // A store that is yet to be made is not gone.
      let isMissing = service.store.isMissing
      wasThere = wasThere || !isMissing
      return isOurs() && !(wasThere && isMissing)
    }
    diagnostics.trace("listening on \(path)")
    server.run()
    leave()
    service.close(within: .seconds(5))
    return Signals.pending == nil ? .success : Signals.exitStatus
  }
}
