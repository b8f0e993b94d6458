internal import DataService
internal import PlatformFoundation

/// One of the two responses that `diff` compares.
struct DiffSide {
  typealias Response = DataService.Response<DataService.BodyStream>

  let head: DataService.ResponseHead
  /// Its body: empty where it was not read, `nil` where it is too large to be compared here.
  private(set) var body: Data? = Data()
  /// How many bytes its body has; 0 where it was not read.
  private(set) var length: Int64 = 0
  /// The largest body that is compared here, in memory; for a larger one the service's comparison counts.
  private static let largestBody = 64 << 20

  init(head: DataService.ResponseHead) { self.head = head }

  /// Reads the body too, if it is not too large.
  init(_ response: Response) throws(BodyError) {
    self.init(head: response.head)
    let (bytes, length) = try BodyPieces(stream: response.value).collected(limit: Self.largestBody)
    body = bytes.map { Data($0) }
    self.length = length
  }
}
