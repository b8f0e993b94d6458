public import PlatformFoundation

extension DataServiceError {
  /// The origin's answer, if its status is the failure: its head, and its body if that may be delivered as `Data`.
  public var response: DataService.Response<Data>? {
    (answered as? Box<DataService.Response<Data>>)?.value
  }

  /// Makes the failure that a load delivers for an answer's status, for previews and tests.
  public static func status(of response: DataService.Response<Data>) -> DataServiceError {
    .status(
      "\(response.url.host() ?? "the server") answered \(response.head.statusText)", status: response.status,
      retryAfter: RetryAfter.delay(
        status: response.status, fields: response.fields, now: response.head.receivedAtMilliseconds),
      response: response)
  }

  /// The failure for an answer's status.
  static func status(
    _ message: String, status: Int, retryAfter: Duration?, response: DataService.Response<Data>?
  ) -> DataServiceError {
    DataServiceError(
      .status, message, remedy: nil, status: status, retryAfter: retryAfter,
      answered: response.map { Box($0) })
  }
}

extension DataServiceError: Equatable {
  /// Equal if all their properties are; the underlying errors, which may have any type, are not compared.
  public static func == (first: Self, second: Self) -> Bool {
    first.kind == second.kind && first.status == second.status && first.retryAfter == second.retryAfter
      && first.message == second.message
      && first.remedy == second.remedy && first.response == second.response
  }
}
