internal import CSodium
internal import CacheStore
internal import DataService

/// The names of keys and fields in the tier: digests that only the holders of the fleet's key can compute.
struct TierNames: Sendable {
  private let key: [UInt8]

  init(_ key: FleetKey) { self.key = key.derived(.names) }

  /// The names for one target of one account. They share a hash tag, so that a cluster keeps them on one node.
  struct Target: Hashable, Sendable {
    /// The hash with a row for each variant.
    let row: String
    /// The tombstone: the ticket of the newest removal or unsafe request.
    var tombstone: String { "\(row):x" }

    /// A piece of a body that is too long for the row.
    /// - Parameter mark: The body's; see ``TierNames/mark(of:)``.
    func chunk(_ number: Int, of ticket: Int64, mark: String = "") -> String {
      "\(row):b:\(ticket)\(mark):\(number)"
    }
  }

  /// The names for a target.
  func target(of question: TierQuestion) -> Target {
    Target(row: "cf1:{\(digest(["target", question.account, question.target], length: 16))}")
  }

  /// What distinguishes the pieces of two bodies that were offered with the same ticket.
  /// - Parameter checksum: The checksum of the body.
  func mark(of checksum: Int64) -> String { "." + digest(["body", String(checksum)], length: 8) }

  /// The name of the key of a shared account.
  func key(of account: String) -> String { "cf1:k:\(digest(["account", account], length: 16))" }

  /// The name of the pause of a question's responder.
  func pause(of question: TierQuestion) -> String {
    "cf1:o:\(digest(["pause", question.account, question.responder], length: 16))"
  }

  /// The name of a variant: what distinguishes responses to one target.
  ///
  /// Fields that a request does not have are left out, so that one without any finds its row whatever `Vary` names.
  /// - Parameter vary: The names in `Vary`, in the format of the `vary` column.
  func variant(of question: TierQuestion, vary: String) -> String {
    let body = question.body.map { Self.base64url(raw(Array($0), length: 16)) } ?? ""
    let fields = Vary.variant(names: vary, requestFields: question.fields) { $1 }
    return digest(["variant", question.method, question.extra, body, fields], length: 8)
  }

  /// A digest of words; their lengths are part of it, so that no two lists have the same bytes.
  private func digest(_ words: [String], length: Int) -> String {
    var message: [UInt8] = []
    message.reserveCapacity(words.reduce(0) { $0 + $1.utf8.count + 8 })
    for word in words {
      message.append(contentsOf: "\(word.utf8.count)".utf8)
      message.append(0x3A)
      message += word.utf8
    }
    return Self.base64url(raw(message, length: length))
  }

  /// BLAKE2b has no form shorter than 16 bytes in libsodium; a shorter digest is its beginning.
  private func raw(_ message: [UInt8], length: Int) -> ArraySlice<UInt8> {
    var output = [UInt8](repeating: 0, count: 16)
    // Fails only for lengths out of range; these constants are within range.
    _ = crypto_generichash(&output, output.count, message, UInt64(message.count), key, key.count)
    return output[..<length]
  }

  private static func base64url(_ bytes: ArraySlice<UInt8>) -> String {
    let variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING
    var text = [CChar](repeating: 0, count: sodium_base64_encoded_len(bytes.count, variant))
    bytes.withUnsafeBufferPointer { bytes in
      _ = sodium_bin2base64(&text, text.count, bytes.baseAddress, bytes.count, variant)
    }
    return String(decoding: text.lazy.map { UInt8(bitPattern: $0) }.prefix { $0 != 0 }, as: UTF8.self)
  }
}
