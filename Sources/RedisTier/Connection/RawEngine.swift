internal import CCurl
internal import DataService

/// Waits on the tier's thread for its connections. Every function is called there, which justifies `@unchecked Sendable`.
final class RawEngine: NetworkEngine, @unchecked Sendable {
  private let libraryName: String
  private var library: CurlLibrary?
  private var connections: [any WaitingConnection] = []
  /// Reused memory for the descriptors of one wait; empty between waits.
  private var descriptors: [curl_waitfd] = []
  private var isAttached = false
  private var isClosed = false
  private(set) var needsAdvance = false

  init(libraryName: String = CurlConfiguration().libraryName) { self.libraryName = libraryName }

  /// Registers a connection, so that the thread waits for it.
  /// - Throws: `closed`.
  func adopt(_ connection: any WaitingConnection, on thread: NetworkThread) throws(DataServiceError) {
    // Added even if it fails: the next turn reports the failure to it.
    connections.append(connection)
    guard !isClosed else { throw Self.closed }
    guard !isAttached else { return }
    isAttached = true
    thread.attach(self)
  }

  /// Removes a connection, so that the thread no longer waits for it.
  func drop(_ connection: any WaitingConnection) { connections.removeAll { $0 === connection } }

  /// Requests a turn for a connection.
  func requestTurn() { needsAdvance = true }

  /// libcurl, loaded where that has not been done.
  func loadedLibrary() throws(DataServiceError) -> CurlLibrary {
    if let library { return library }
    let library = try CurlLibrary.load(libraryName)
    self.library = library
    return library
  }

  func advance() {
    needsAdvance = false
    // Listeners may open and close connections.
    for connection in connections { connection.advance() }
  }

  func wait(wakeDescriptor descriptor: Int32, milliseconds: Int32) -> Bool {
    var milliseconds = milliseconds
    var waited = descriptors
    descriptors = []
    if descriptor >= 0 {
      waited.append(curl_waitfd(fd: descriptor, events: Int16(CURL_WAIT_POLLIN), revents: 0))
    }
    for connection in connections { milliseconds = min(milliseconds, connection.await(in: &waited)) }
    ccurl_thread_rest()
    ccurl_wait(&waited, UInt32(waited.count), milliseconds)
    ccurl_thread_resume()
    let isSignalled = descriptor >= 0 && waited[0].revents != 0
    for connection in connections { connection.note(waited) }
    waited.removeAll(keepingCapacity: true)
    descriptors = waited
    needsAdvance = true
    return isSignalled
  }

  func close() {
    isClosed = true
    for connection in connections { connection.end(Self.closed) }
    needsAdvance = false
  }

  private static var closed: DataServiceError { DataServiceError(.closed, "the connection was closed") }
}

/// A connection that the engine waits for. Every function is called on the tier's thread.
protocol WaitingConnection: AnyObject {
  /// Adds the descriptors it waits for.
  /// - Returns: The longest wait, in milliseconds, after which it wants a turn though none was ready.
  func await(in descriptors: inout [curl_waitfd]) -> Int32
  /// Learns from the descriptors after the wait whether there is something to receive.
  func note(_ descriptors: [curl_waitfd])
  /// Goes on as far as possible without waiting.
  func advance()
  /// Closes the connection and reports its end.
  func end(_ error: DataServiceError)
}
