internal import CSodium
internal import PlatformFoundation

/// Encrypts values, and opens those that were sealed with the same key for the same place.
///
/// A value that was changed, or stands at another key, field, ticket or number than it was made for, does not open.
struct Seal: Sendable {
  /// Where a value belongs, which is authenticated with it.
  struct Place: Hashable, Sendable {
    var key: String
    var field: String
    var ticket: Int64 = 0
    var number: Int = 0

    fileprivate var bytes: [UInt8] {
      var bytes = Array("cf1".utf8)
      bytes.reserveCapacity(key.utf8.count + field.utf8.count + 48)
      // Neither a key nor a field has a line break in it.
      for text in [key, field] {
        bytes.append(0x0A)
        bytes += text.utf8
      }
      for part in [ticket, Int64(number)] {
        bytes.append(0x0A)
        bytes.append(contentsOf: "\(part)".utf8)
      }
      return bytes
    }
  }

  /// How much longer a sealed value is.
  static let overhead = nonceLength + tagLength
  private static let nonceLength = Int(crypto_aead_xchacha20poly1305_ietf_NPUBBYTES)
  private static let tagLength = Int(crypto_aead_xchacha20poly1305_ietf_ABYTES)

  private let key: [UInt8]

  init(_ key: FleetKey) { self.key = key.derived(.seal) }

  /// The sealed bytes: a random nonce, the encrypted value, and its tag.
  func sealed(_ value: UnsafeRawBufferPointer, at place: Place) -> [UInt8] {
    let associated = place.bytes
    return [UInt8](unsafeUninitializedCapacity: value.count + Self.overhead) { output, count in
      guard let room = output.baseAddress else { return }
      randombytes_buf(room, Self.nonceLength)
      // Fails only for lengths that no memory holds.
      _ = crypto_aead_xchacha20poly1305_ietf_encrypt(
        room + Self.nonceLength, nil, value.baseAddress?.assumingMemoryBound(to: UInt8.self),
        UInt64(value.count),
        associated, UInt64(associated.count), nil, room, key)
      count = value.count + Self.overhead
    }
  }

  /// The sealed bytes.
  func sealed(_ value: [UInt8], at place: Place) -> [UInt8] {
    value.withUnsafeBytes { sealed($0, at: place) }
  }

  /// The value, or `nil` where it was not sealed with this key for this place.
  func opened(_ bytes: [UInt8], at place: Place) -> [UInt8]? {
    guard bytes.count >= Self.overhead else { return nil }
    let associated = place.bytes
    var isOpen = false
    // Room for at least one byte: all empty arrays share one storage, and the count is written into it.
    let room = max(1, bytes.count - Self.overhead)
    let value = [UInt8](unsafeUninitializedCapacity: room) { output, count in
      bytes.withUnsafeBufferPointer { bytes in
        guard let sealed = bytes.baseAddress else { return }
        isOpen =
          crypto_aead_xchacha20poly1305_ietf_decrypt(
            output.baseAddress, nil, nil, sealed + Self.nonceLength, UInt64(bytes.count - Self.nonceLength),
            associated, UInt64(associated.count), sealed, key) == 0
      }
      count = isOpen ? bytes.count - Self.overhead : 0
    }
    return isOpen ? value : nil
  }
}
