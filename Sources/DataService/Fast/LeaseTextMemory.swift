/// What the options of a request say in its lease's text, made anew only where they are others than the last request's.
///
/// The plain form makes it each time: ``LeaseTextMemory/made(of:_:)``.
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
