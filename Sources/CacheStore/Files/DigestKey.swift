internal import PlatformC

/// The secret key for digests of credentials and of secret query values.
///
/// It is kept in its own file, `STORE.key` (32 bytes, mode 0600), so that the database alone does not allow guessing
/// passwords from its digests. Where the file is lost, a new key is created, and rows of requests with credentials
/// become misses, since no digest leads to their accounts any more.
package struct DigestKey: Sendable {
  private static let length = 32
  private let bytes: [UInt8]

  /// A key for this process only, where a store cannot be used: its digests only distinguish requests.
  package init() {
    var generator = SystemRandomNumberGenerator()
    bytes = (0..<Self.length).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
  }

  /// A key of given bytes, for tests.
  package init(bytes: [UInt8]) { self.bytes = bytes }

  /// The key beside the store at `path`, created where there is none.
  ///
  /// Takes some microseconds and may be called on any thread. Throws `cannotOpen`, `readOnly` or `full`, naming the
  /// file.
  package static func loadOrCreate(nextTo path: String) throws(CacheStoreError) -> DigestKey {
    let files = StoreFiles(path: path)
    // The next round sees a file that appeared or vanished in between.
    for _ in 0..<3 {
      if let key = try load(files) { return key }
      if let key = try create(files) { return key }
    }
    throw CacheStoreError(
      .cannotOpen, "the digest key \(files.key) comes and goes", hint: "end the program that removes it")
  }

  /// The key beside the store at `path`, or `nil` where there is none.
  package static func load(
    nextTo path: String, isForeign: Bool = false
  ) throws(CacheStoreError) -> DigestKey? {
    try load(StoreFiles(path: path, isForeign: isForeign))
  }

  /// How many digits a digest has.
  package static let digits = 32

  /// The keyed digest of some bytes: ``digits`` lower-case hexadecimal digits. They lead to rows and accounts of a store.
  ///
  /// Apple's systems have another function than the others: a store that is copied between them finds nothing of its
  /// requests with credentials again, as after the loss of its key.
  package func digest(_ message: [UInt8]) -> String {
    String(
      decoding: KeyedDigest.of(message, key: bytes).flatMap { [Self.digit($0 >> 4), Self.digit($0 & 15)] },
      as: UTF8.self)
  }

  /// Identifies this key without revealing it.
  var proof: String { digest(Array("cachefetch".utf8)) }

  private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }

  private static func load(_ files: StoreFiles) throws(CacheStoreError) -> DigestKey? {
    let descriptor = open(files.key, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      guard errno != ENOENT, errno != ENOTDIR else { return nil }
      throw CacheStoreError(
        .cannotOpen, "cannot read the digest key \(files.key): \(Platform.describe(errno))",
        hint: "give it mode 600, or remove it: a new one is then made")
    }
    defer { close(descriptor) }
    try files.check(opened: FileStatus(descriptor: descriptor), "the digest key", files.key)
    var bytes = [UInt8](repeating: 0, count: length + 1)
    guard read(descriptor, &bytes, bytes.count) == length else {
      throw CacheStoreError(
        .cannotOpen, "the digest key \(files.key) is damaged", hint: "remove it: a new one is then made")
    }
    return DigestKey(bytes: Array(bytes[..<length]))
  }

  /// Creates the file; `nil` where another process was first.
  ///
  /// Writes the bytes to a file with a unique name and links that to the final name, which fails where it exists: no
  /// process ever sees half a key.
  private static func create(_ files: StoreFiles) throws(CacheStoreError) -> DigestKey? {
    try files.makeFolder()
    let key = DigestKey()
    let draft = "\(files.key).\(getpid()).\(UInt32.random(in: .min ... .max))"
    let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw failure(files, errno) }
    defer { unlink(draft) }
    let written = write(descriptor, key.bytes, length) == length && fsync(descriptor) == 0
    let number = errno
    close(descriptor)
    guard written else { throw failure(files, number) }
    if link(draft, files.key) == 0 { return key }
    guard errno == EEXIST else { throw failure(files, errno) }
    return nil
  }

  private static func failure(_ files: StoreFiles, _ number: Int32) -> CacheStoreError {
    CacheStoreError(
      StoreFiles.reason(ofMaking: number),
      "cannot make the digest key \(files.key): \(Platform.describe(number))"
    )
  }
}
