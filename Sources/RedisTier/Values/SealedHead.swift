internal import CacheStore
internal import DataService
internal import PlatformFoundation

/// The bytes that are sealed for a row of the tier: the head of a response, and its body where that is short.
///
/// It has no instant of a machine's clock, but ages: how old the response was when it was offered, and the tier's time
/// then.
struct SealedHead: Hashable, Sendable {
  /// The number that every head begins with. A head with another one is a miss.
  static let format: UInt8 = 2
  /// The longest body, in bytes, that stands in the row itself.
  static let inlineLimit = 32 << 10
  /// The longest piece of a longer body.
  static let chunkLength = 256 << 10
  /// The longest head without a body.
  static let lengthLimit = 192 << 10

  var ticket: Int64
  /// The tier's time when it was offered, in microseconds.
  var offeredAt: Int64
  /// The age in milliseconds when it was offered.
  var age: Int64
  /// From sending the request to receiving the response, in milliseconds.
  var delay: Int64
  /// The duration of the exchange, in milliseconds.
  var exchange: Int64
  var status: Int64
  /// 1 where the body was decoded, else 0.
  var decoded: Int64
  /// The length of the body in bytes, and its checksum.
  var length: Int64
  var checksum: Int64
  var version: String
  var reason: String
  /// The account and target that it was made for.
  var account: String
  var target: String
  /// The name of the variant, and the names in `Vary`.
  var variant: String
  var vary: String
  /// The URL that answered; empty where it is the requested one.
  var url: String
  /// The fields as the store has them.
  var wire: [UInt8]
  /// The body, where it is not longer than ``inlineLimit``: a part of the bytes that were read.
  var body: ArraySlice<UInt8>?

  /// The number of pieces of the body that are stored beside the row.
  var chunks: Int {
    length <= Self.inlineLimit ? 0 : Int((length - 1) / Int64(Self.chunkLength)) + 1
  }
}

extension SealedHead {
  /// The head as bytes; `nil` where it is longer than the limit.
  var bytes: [UInt8]? {
    var output: [UInt8] = [Self.format]
    for number in [ticket, offeredAt, age, delay, exchange, status, decoded, length, checksum] {
      withUnsafeBytes(of: number.littleEndian) { output += $0 }
    }
    for text in [version, reason, account, target, variant, vary, url] {
      Self.append(Array(text.utf8), to: &output)
    }
    Self.append(wire, to: &output)
    guard output.count <= Self.lengthLimit else { return nil }
    if let body { output += body }
    return output
  }

  /// Reads a head, strictly: what no release writes is `nil`.
  init?(_ bytes: [UInt8]) {
    guard bytes.first == Self.format else { return nil }
    var place = 1
    var numbers: [Int64] = []
    numbers.reserveCapacity(9)
    for _ in 0..<9 {
      guard let number = Self.number(bytes, &place, Int64.self) else { return nil }
      numbers.append(number)
    }
    var texts: [String] = []
    texts.reserveCapacity(7)
    for _ in 0..<7 {
      guard let text = Self.text(bytes, &place) else { return nil }
      texts.append(text)
    }
    guard let wire = Self.take(bytes, &place), place <= Self.lengthLimit else { return nil }
    self.init(
      ticket: numbers[0], offeredAt: numbers[1], age: numbers[2], delay: numbers[3], exchange: numbers[4],
      status: numbers[5], decoded: numbers[6], length: numbers[7], checksum: numbers[8], version: texts[0],
      reason: texts[1],
      account: texts[2], target: texts[3], variant: texts[4], vary: texts[5], url: texts[6],
      wire: Array(wire),
      body: numbers[7] <= Self.inlineLimit ? bytes[place...] : nil)
    guard isSound, Int64(bytes.count - place) == (body == nil ? 0 : length) else { return nil }
  }

  /// Whether every part is one that an exchange can have brought.
  private var isSound: Bool {
    ticket > 0 && offeredAt >= 0 && Self.ages.contains(age) && Self.ages.contains(delay)
      && Self.ages.contains(exchange) && (100...599).contains(status) && (0...1).contains(decoded)
      && length >= 0
      && Self.versions.contains(version) && Self.areFields(wire)
      && !reason.utf8.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }
  }

  private static let versions = ["1.0", "1.1", "2", "3"]

  /// Up to a hundred years in milliseconds.
  private static let ages: ClosedRange<Int64> = 0...3_155_760_000_000

  /// Whether the bytes are lines of fields as ``HTTPFields`` writes them.
  private static func areFields(_ wire: [UInt8]) -> Bool {
    wire.withUnsafeBufferPointer { areFields($0[...]) }
  }

  private static func areFields(_ wire: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    var rest = wire
    while let end = rest.firstIndex(of: 0x0A) {
      let line = rest[..<end]
      guard line.last == 0x0D, let colon = line.firstIndex(of: 0x3A), colon > line.startIndex,
        line[..<colon].allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
        !line[colon...].dropLast().contains(where: { $0 == 0 || $0 == 0x0D })
      else { return false }
      rest = rest[(end + 1)...]
    }
    return rest.isEmpty
  }

  private static func append(_ bytes: [UInt8], to output: inout [UInt8]) {
    withUnsafeBytes(of: UInt32(truncatingIfNeeded: bytes.count).littleEndian) { output += $0 }
    output += bytes
  }

  private static func number<Number: FixedWidthInteger>(
    _ bytes: [UInt8], _ place: inout Int, _: Number.Type
  ) -> Number? {
    let size = MemoryLayout<Number>.size
    guard bytes.count - place >= size else { return nil }
    defer { place += size }
    return Number(
      littleEndian: bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: place, as: Number.self) })
  }

  private static func text(_ bytes: [UInt8], _ place: inout Int) -> String? {
    guard let text = take(bytes, &place) else { return nil }
    // Most texts are empty.
    return text.isEmpty ? "" : String(validating: text, as: UTF8.self)
  }

  private static func take(_ bytes: [UInt8], _ place: inout Int) -> ArraySlice<UInt8>? {
    guard let count = number(bytes, &place, UInt32.self), bytes.count - place >= Int(count) else {
      return nil
    }
    defer { place += Int(count) }
    return bytes[place..<(place + Int(count))]
  }
}

// A response in this form, and back: one more value of a head is added to both.
extension SealedHead {
  /// The head of a response that is offered at an instant of the tier's clock, in microseconds.
  init(_ offer: TierOffer, variant: String, at time: Int64) {
    let head = offer.head
    self.init(
      ticket: offer.ticket.number, offeredAt: time, age: max(0, offer.age),
      delay: max(0, head.receivedAt - head.requestedAt), exchange: max(0, head.endedAt - head.requestedAt),
      status: Int64(head.status), decoded: head.isDecoded ? 1 : 0, length: Int64(offer.body.count),
      checksum: Self.checksum(of: offer.body),
      version: head.version, reason: head.reason, account: offer.question.account,
      target: offer.question.target, variant: variant, vary: offer.vary, url: head.url ?? "",
      wire: head.fields.wire,
      body: offer.body.count <= Self.inlineLimit ? ArraySlice(offer.body) : nil)
  }

  /// The row in terms of this machine's clocks.
  /// - Parameters:
  ///   - time: The tier's time, in microseconds.
  ///   - started: The ticket's instant on the local clock.
  ///   - wall: The local wall clock at the tier's time.
  func row(at time: Int64, started: StartMark, wallMilliseconds wall: Int64) -> TierRow {
    let (since, overflow) = time.subtractingReportingOverflow(offeredAt)
    let received = wall - age - (overflow ? 0 : max(0, since) / 1_000)
    let head = ReceivedHead(
      status: Int(status), reason: reason, fields: HTTPFields(wire: wire), isDecoded: decoded == 1,
      version: version, url: url.isEmpty ? nil : url, started: started, requestedAt: received - delay,
      receivedAt: received,
      endedAt: received - delay + exchange)
    return TierRow(
      head: head, vary: vary, ticket: ticket, length: length, checksum: checksum, body: body.map { Data($0) })
  }

  /// The checksum of a body.
  static func checksum(of body: Data) -> Int64 { Int64(bitPattern: ResponseStore.leaseHash(Array(body))) }
}
