internal import CCurl
internal import DataService

/// What carries the bytes of a ``RawConnection``: a socket, or libcurl's handles. Used on the tier's thread only.
protocol RawCarrier: AnyObject {
  /// The connection's descriptor; -1 before it is made.
  var descriptor: Int32 { get }
  /// Whether it may have bytes for which the descriptor is no longer readable, as TLS has.
  var mayHoldBytes: Bool { get }
  /// Goes on connecting without waiting; the result once there is one.
  func connect() -> Result<Void, DataServiceError>?
  /// Adds the descriptors that connecting waits for.
  /// - Returns: The longest wait, in milliseconds, after which it wants to go on though none was ready.
  func appendDescriptors(to descriptors: inout [curl_waitfd]) -> Int32
  /// Sends bytes of a block from an offset.
  func send(_ block: [UInt8], from offset: Int) -> RawProgress
  /// Receives bytes.
  func receive(into room: UnsafeMutableRawBufferPointer) -> RawProgress
}

/// What came of sending or receiving.
enum RawProgress {
  /// So many bytes, one at least.
  case some(Int)
  /// None at the moment.
  case later
  /// The connection has ended.
  case ended
}
