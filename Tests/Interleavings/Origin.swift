import DataService
import PlatformFoundation

/// A body says what was asked, for whom and when.
struct Body {
  let text: String
  let number: Int
  let key: Key
  /// How often the account had been signed out by then.
  let generation: Int
  let asked: Int64

  init(_ data: Data) {
    let whole = data.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
    // One that nobody has made breaks the law of the keys.
    let parts =
      whole.count == 5 ? whole.map { String(decoding: $0, as: UTF8.self) } : ["0", "?", "?", "0", "0"]
    text = parts.joined(separator: ";")
    number = Int(parts[0]) ?? 0
    key = Key(account: parts[1], path: parts[2])
    generation = Int(parts[3]) ?? 0
    asked = Int64(parts[4]) ?? 0
  }
}

/// What is asked for, and for whom.
struct Key: Hashable {
  let account: String
  let path: String
}

/// An origin that answers as the seed says, in virtual time.
struct Origin: Transport {
  let clock: Clock

  func response(to request: TransportRequest) async throws(DataServiceError) -> TransportResponse {
    guard let stage = clock.stage, let scene = clock.scene else {
      throw DataServiceError(.other, "nobody plays")
    }
    let key = Key(account: request.fields["X-Account"] ?? "", path: request.url.path)
    let held = request.fields["If-None-Match"]
    let asking = scene.ask(key)
    defer { scene.asked(asking) }
    let text = scene.newBody(for: key)
    scene.log("\(key.account)\(key.path) is asked for \(text), if not \(held ?? "-")")
    let delays: [Int64] = stage.chance(20) ? [300, 2_000, 3_600_000] : [0, 1, 5, 30]
    let delay = scene.isPrelude ? 0 : stage.oneOf(delays)
    await withTaskCancellationHandler {
      await stage.wait(delay * 1_000_000)
    } onCancel: {
      asking.isCancelled = true
    }
    if Task.isCancelled { throw DataServiceError(.cancelled, "cancelled") }
    let isSignedOut = !scene.isPrelude && !key.account.isEmpty && stage.chance(1)
    if isSignedOut { scene.signOutElsewhere(key.account) }
    if !scene.isPrelude, stage.chance(12) {
      throw DataServiceError(stage.oneOf([.refused, .offline, .dns]), "no network")
    }
    var fields: HTTPFields = ["ETag": "\"\(text)\""]
    var status = 200
    if !scene.isPrelude {
      if stage.chance(12) { status = stage.oneOf([503, 500, 404]) }
      if isSignedOut, stage.chance(50) { status = 404 }
      if status == 200, held != nil, stage.chance(40) { status = 304 }
      if stage.chance(6) { fields["Cache-Control"] = "no-store" }
    }
    if status > 399 || fields.contains("Cache-Control") { scene.asksAlone.insert(key) }
    if status == 304, let held {
      fields["ETag"] = held
      scene.confirm(String(held.dropFirst().dropLast()), at: Body(Data(text.utf8)).asked)
      scene.mayBeBeside.insert(key)
      scene.confirmedAt[key] = stage.now
    }
    scene.log("\(key.account)\(key.path) is answered: \(status) \(text)")
    scene.answeredAt[text] = stage.instant
    let data = Data(text.utf8)
    let isCut = status == 200 && !scene.isPrelude && stage.chance(8)
    let pieces = Pieces(status == 304 ? [] : [data.prefix(5), data.dropFirst(5)].map { Data($0) })
    let delaysOfPieces = scene.isPrelude ? 1 : 4
    let body = TransportBody(length: status == 304 ? 0 : Int64(data.count)) {
      () async throws(DataServiceError) -> Data? in
      guard !pieces.isEmpty else { return nil }
      let asking = scene.ask(key)
      defer { scene.asked(asking) }
      await withTaskCancellationHandler {
        await stage.wait(Int64(stage.below(delaysOfPieces)) * 400_000)
      } onCancel: {
        asking.isCancelled = true
      }
      if Task.isCancelled { throw DataServiceError(.cancelled, "cancelled") }
      if isCut, pieces.isLast { throw DataServiceError(.truncated, "cut off") }
      return pieces.take()
    }
    return TransportResponse(version: "1.1", status: status, fields: fields, body: body)
  }
}

/// What is left of a body.
private final class Pieces: @unchecked Sendable {
  private var left: [Data]
  init(_ pieces: [Data]) { left = pieces }
  var isEmpty: Bool { left.isEmpty }
  var isLast: Bool { left.count == 1 }
  func take() -> Data? { left.isEmpty ? nil : left.removeFirst() }
}

/// A question that the origin has not answered yet.
final class Asking: @unchecked Sendable {
  let key: Key
  /// How often the account had been signed out by then.
  let generation: Int
  var isCancelled = false
  init(_ key: Key, _ generation: Int) { (self.key, self.generation) = (key, generation) }
}
