internal import CacheStore
internal import PlatformFoundation

extension PreparedRequest {
  /// A hash that all processes agree on, equal for loads that may share an exchange. Secret values enter as digests.
  ///
  /// - Parameter options: The `leaseText` of the request's limits and connection options.
  func leaseHash(secrets: SecretList, options: [UInt8]) -> UInt64 {
    var text: [UInt8] = []
    text.reserveCapacity(512)
    func add(_ part: String) {
      text.append(contentsOf: part.utf8)
      text.append(0)
    }
    for part in [key.account, key.target, key.method, key.extra, request.method.rawValue] { add(part) }
    // The caller's own key shows neither where the request goes nor what it sends.
    if request.key != nil {
      add(shownURL)
      if let body = request.body, !body.isEmpty { add(digest(Array(body))) }
    }
    for field in fields.all {
      add(FieldList.lowercased(field.name))
      add(secrets.isSecretField(field.name) ? digest(Array(field.value.utf8)) : field.value)
    }
    text.append(contentsOf: options)
    text.append(request.keepsAnyway ? 1 : 0)
    text.append(isHTTP ? 1 : 0)
    for type in request.acceptedMediaTypes { add(type) }
    return ResponseStore.leaseHash(text)
  }
}

extension Limits {
  /// All limits as numbers. A test checks that none is missing.
  var leaseText: [UInt8] {
    let numbers = [
      bodyBytes, dataBytes, Int64(fieldSectionBytes), Int64(fieldCount), Int64(redirects), Int64(retries),
      connectTimeout.clampedNanoseconds, firstByteTimeout.clampedNanoseconds, idleTimeout.clampedNanoseconds,
      totalTimeout.clampedNanoseconds,
    ]
    return numbers.withUnsafeBytes { Array($0) }
  }
}

extension ConnectionOptions {
  /// All options. A test checks that none is missing.
  var leaseText: [UInt8] {
    var text: [UInt8] = []
    for flag in [isInsecure, isHTTP11Only, isCompressed] { text.append(flag ? 1 : 0) }
    for part in [
      unixSocket, proxy, certificateAuthorityFile, certificateAuthorityFolder, clientCertificateFile,
      clientKeyFile,
    ] {
      text.append(part == nil ? 0 : 1)
      text.append(contentsOf: (part ?? "").utf8)
      text.append(0)
    }
    for resolution in resolutions {
      text.append(contentsOf: "\(resolution.host) \(resolution.port) \(resolution.address)".utf8)
      text.append(0)
    }
    return text
  }
}
