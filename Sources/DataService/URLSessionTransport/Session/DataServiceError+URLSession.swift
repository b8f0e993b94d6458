import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension DataServiceError {
  /// The service's error for an error of URLSession.
  static func urlSession(_ error: any Error, host: String, hasHead: Bool) -> DataServiceError {
    let (kind, message) = Self.meaning(of: (error as? URLError)?.code ?? .unknown, host, hasHead)
    return DataServiceError(kind, message, underlying: error)
  }

  private static func meaning(of code: URLError.Code, _ host: String, _ hasHead: Bool) -> (Kind, String) {
    switch code {
    case .cancelled: (.cancelled, "the exchange was cancelled")
    case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff, .callIsActive:
      (.offline, "there is no network")
    case .cannotFindHost, .dnsLookupFailed: (.dns, "the name \(host) was not found")
    case .cannotConnectToHost: (.refused, "\(host) refused the connection")
    case .timedOut: (.timeout(hasHead ? .idle : .firstByte), "\(host) did not answer in time")
    case .networkConnectionLost where hasHead:
      (.truncated, "the response from \(host) was cut off")
    case .networkConnectionLost: (.disconnected, "\(host) closed the connection without a response")
    case .badServerResponse, .cannotParseResponse, .cannotDecodeContentData, .cannotDecodeRawData,
      .zeroByteResource:
      (.protocol, "the response from \(host) is malformed")
    case .badURL, .unsupportedURL: (.invalidRequest, "the URL is malformed")
    case .dataLengthExceedsMaximum: (.tooLarge, "the response from \(host) is too large")
    case .secureConnectionFailed: (.tls("handshake"), "no secure connection to \(host) could be made")
    case .serverCertificateHasBadDate: (.tls("expired"), "the certificate of \(host) has expired")
    case .serverCertificateNotYetValid: (.tls("notYetValid"), "the certificate of \(host) is not valid yet")
    case .serverCertificateUntrusted, .serverCertificateHasUnknownRoot:
      (.tls("untrusted"), "the certificate of \(host) is not from a trusted authority")
    case .clientCertificateRejected, .clientCertificateRequired:
      (.tls("clientCertificate"), "\(host) wants another client certificate")
    default: (.other, "the transfer from \(host) failed")
    }
  }
}
