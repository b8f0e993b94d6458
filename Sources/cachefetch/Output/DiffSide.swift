internal import DataService
internal import PlatformFoundation

/// One of the two responses that `diff` compares.
struct DiffSide {
  typealias Response = DataService.Response<DataService.BodyStream>

  let head: DataService.ResponseHead
  /// Its body, if it is compared.
  private(set) var body = Data()
  /// The largest body that is compared, since bodies are compared in memory.
  private static let largestBody = 64 << 20

  init(head: DataService.ResponseHead) { self.head = head }

  /// Reads the body too.
  init(_ response: Response) throws(BodyError) {
    self.init(head: response.head)
    let (bytes, _) = try BodyPieces(stream: response.value).collected(limit: Self.largestBody)
    guard let bytes else {
      throw .body(
        DataServiceError(.tooLarge, "the body is larger than 64 MiB", hint: "compare files: use get -o"))
    }
    body = Data(bytes)
  }
}
