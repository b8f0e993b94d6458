internal import CacheStore
internal import DataService
internal import Dispatch
internal import PlatformC
internal import PlatformFoundation

/// Hands the exchange of a `get` over to the process that serves its store, whose connections are open.
struct HandOver: Sendable {
  private let arguments: Arguments
  private let store: String

  /// How long that process may take to say that it takes the request, before the command goes alone.
  private static let patience = Duration.milliseconds(250)
  /// Options of an exchange that only the command itself can make, or show.
  private static let own: [OptionName] = [
    .unixSocket, .http11, .noCompressed, .waitOnline, .include, .head, .writeOut, .verbose,
  ]

  /// `nil` where nothing is to be handed over.
  init?(_ arguments: Arguments) {
    guard arguments.verb == .get, arguments.operands.count == 1, !Self.own.contains(where: arguments.has)
    else {
      return nil
    }
    (self.arguments, store) = (arguments, StoreLocation.path(arguments))
  }

  /// Asks for the exchange of a request; `nil` where nobody makes it, or not to its end.
  func ask(_ request: DataService.Request) async -> DataService.HandedOver? {
    guard let socket = ServeSocket.connected(to: ServeSocket.path(besides: store)) else { return nil }
    defer { close(socket) }
    guard let line = line(for: request) else { return nil }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { asked in
        DispatchQueue(label: "cachefetch.serve").async {
          let last = Self.answer(to: line, on: socket, within: request.limits.totalTimeout / 2)
          asked.resume(returning: last.flatMap(Self.outcome))
        }
      }
    } onCancel: {
      shutdown(socket, Int32(SHUT_RDWR))
    }
  }

  private func line(for request: DataService.Request) -> [UInt8]? {
    guard request.method != .head, let key = try? DigestKey.load(nextTo: store),
      String(validating: request.fields.wire, as: UTF8.self) != nil
    else { return nil }
    let terms = ServeTerms(arguments, key)
    var (json, limits) = (JSONWriter(), JSONWriter())
    json.member("url", request.spelling ?? request.url.absoluteString)
    json.member("method", request.method.rawValue)
    json.member("fields", pairs: request.fields.all.map { ($0.name, $0.value) })
    if let body = request.body { json.member("body_base64", body.base64EncodedString()) }
    if let key = request.key { json.member("key", key) }
    if PolicyChoice.chosen(arguments) == .freshOnly { json.member("policy", "fresh-only") }
    // The policy is the command's, which has delivered what is stored.
    let local: [OptionName] = [.method, .policy, .maxAge, .deadline]
    for (name, option) in ServeRequest.options where !local.contains(option) { add(option, name, to: &json) }
    for (name, option) in ServeRequest.limits { add(option, name, to: &limits) }
    json.member("limits", json: limits.object())
    json.member("body", "store")
    json.member("road", terms.road)
    json.member("trust", terms.trust)
    return json.line()
  }

  private func add(_ option: OptionName, _ name: String, to json: inout JSONWriter) {
    guard let given = arguments.options.last(where: { $0.name == option }) else { return }
    if Option.row(option).repeats {
      json.member(name, arguments.texts(option))
    } else if let text = given.text {
      json.member(name, text)
    } else {
      json.member(name, true)
    }
  }

  /// The last line of the answer; `nil` if the process does not take the request, ends or is silent.
  private static func answer(to line: [UInt8], on socket: Int32, within limit: Duration) -> ArraySlice<UInt8>?
  {
    var (rest, arrived, wait) = (line[...], [UInt8](), patience)
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      var polled = pollfd(fd: socket, events: Int16(rest.isEmpty ? POLLIN : POLLOUT), revents: 0)
      guard poll(&polled, 1, Int32(clamping: wait.milliseconds)) > 0 else { return nil }
      if rest.isEmpty {
        let count = recv(socket, &buffer, buffer.count, 0)
        if count < 0 { return nil }
        if count == 0 { break }
        arrived += buffer[..<count]
        if arrived.starts(with: Server.taken) { wait = limit }
      } else {
        let count = ServeSocket.send(rest, on: socket)
        if count < 0 { return nil }
        rest = rest.dropFirst(count)
      }
    }
    guard arrived.starts(with: Server.taken), arrived.last == 0x0A else { return nil }
    return arrived.split(separator: 0x0A).last
  }

  private static func outcome(_ line: ArraySlice<UInt8>) -> DataService.HandedOver? {
    guard case .object(let members)? = JSONReader.read(Data(line)).value else { return nil }
    let status = members["status"]?.text.flatMap { Int($0) }
    if case .object(let error)? = members["error"], let kind = error["kind"]?.text {
      guard members["delivery"] != nil, !["cancelled", "closed"].contains(kind) else { return nil }
      return .failure(
        DataServiceError(.init(kind), error["message"]?.text ?? "", hint: error["hint"]?.text, status: status)
      )
    }
    if members["kept"] == .boolean(true) {
      return .stored(wasValidated: members["revalidated"] == .boolean(true))
    }
    guard let status, let url = members["response_url"]?.text, case .array(let pairs)? = members["fields"],
      members["body_omitted"] == nil
    else { return nil }
    var fields = HTTPFields()
    for case .array(let pair) in pairs {
      if let name = pair.first?.text, let value = pair.last?.text { fields.append(name, value) }
    }
    let body =
      members["body"]?.text.map { Data($0.utf8) }
      ?? members["body_base64"]?.text.flatMap { Data(base64Encoded: $0) }
    return .unkept(
      status: status, fields: fields, url: url, body: body ?? Data(),
      .init(members["kept_reason"]?.text ?? ""))
  }
}
