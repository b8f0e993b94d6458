/// The lease text of a request's options, made again only if they differ from those of the last request.
///
/// The plain form makes the text each time: ``LeaseTextMemory/made(of:_:)``.
struct LeaseTextMemory {
  private var last: (limits: Limits, connection: ConnectionOptions, text: [UInt8])?

  mutating func text(of limits: Limits, _ connection: ConnectionOptions) -> [UInt8] {
    if let last, last.limits == limits, last.connection == connection { return last.text }
    let text = Self.made(of: limits, connection)
    last = (limits, connection, text)
    return text
  }

  static func made(of limits: Limits, _ connection: ConnectionOptions) -> [UInt8] {
    limits.leaseText + connection.leaseText
  }
}
