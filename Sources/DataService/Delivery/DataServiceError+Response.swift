public import PlatformFoundation

extension DataServiceError {
  /// The origin's answer where its status is the failure: its head, and its body where that may be handed over as `Data`.
  public var response: DataService.Response<Data>? {
    (answered as? Box<DataService.Response<Data>>)?.value
  }

  /// Makes by hand the failure that an answer's status is, such as a load would deliver: for previews and tests.
  public static func status(of response: DataService.Response<Data>) -> DataServiceError {
    .status(
      "\(response.url.host() ?? "the server") answered \(response.head.statusText)", status: response.status,
      response: response)
  }

  /// A failure that is the answer's status.
  static func status(
    _ message: String, status: Int, response: DataService.Response<Data>?
  ) -> DataServiceError {
    DataServiceError(.status, message, remedy: nil, status: status, answered: response.map { Box($0) })
  }
}

extension DataServiceError: Equatable {
  /// Alike in all they say; the causes beneath, which may be of any type, are not compared.
  public static func == (first: Self, second: Self) -> Bool {
    first.kind == second.kind && first.status == second.status && first.message == second.message
      && first.remedy == second.remedy && first.response == second.response
  }
}
