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
    /// The ticket of the newest removal or unsafe request.
    var fence: String { "\(row):x" }

    /// A piece of a body that is too long for the row.
    func chunk(_ number: Int, of ticket: Int64) -> String { "\(row):b:\(ticket):\(number)" }
  }

  /// The names for a target.
  func target(of question: TierQuestion) -> Target {
    Target(row: "cf1:{\(digest(["target", question.account, question.target], length: 16))}")
  }

  /// The name of a variant: what else than the target tells responses apart.
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
      message.append(decimal: Int64(word.utf8.count))
      message.append(0x3A)
      message += word.utf8
    }
    return Self.base64url(raw(message, length: length))
  }

  /// BLAKE2b has no shorter form than 16 bytes in libsodium; what is shorter is its beginning.
  private func raw(_ message: [UInt8], length: Int) -> ArraySlice<UInt8> {
    var output = [UInt8](repeating: 0, count: 16)
    // Fails for lengths out of range only, and these are constants within it.
    _ = crypto_generichash(&output, output.count, message, UInt64(message.count), key, key.count)
    return output[..<length]
  }

  private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// The bytes in the letters that names may have. Names are what the server sees: unlike secrets they may be written in a
  /// time that depends on them.
  private static func base64url(_ bytes: ArraySlice<UInt8>) -> String {
    let letters = letters
    return String(unsafeUninitializedCapacity: (bytes.count * 4 + 2) / 3) { room in
      var (bits, length, count) = (0, 0, 0)
      func add(_ bits: Int) {
        room[count] = letters[bits & 63]
        count += 1
      }
      for byte in bytes {
        bits = (bits & 63) << 8 | Int(byte)
        length += 8
        while length >= 6 {
          length -= 6
          add(bits >> length)
        }
      }
      if length > 0 { add(bits << (6 - length)) }
      return count
    }
  }
}
