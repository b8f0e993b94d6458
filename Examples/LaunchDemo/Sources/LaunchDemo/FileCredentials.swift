import Launch

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The credential in a file that only its user may read.
struct FileCredentials: CredentialStore {
  let path: String

  func credential() async throws -> Credential? {
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    return try JSONDecoder().decode(Credential.self, from: Data(contentsOf: URL(filePath: path)))
  }

  func save(_ credential: Credential) async throws {
    // Made with its permissions, so that it is never readable by others, not even while it is written.
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw POSIXError(errno) }
    defer { close(descriptor) }
    let data = try JSONEncoder().encode(credential)
    let written = data.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    guard written == data.count else { throw POSIXError(errno) }
  }

  func remove() async throws {
    guard unlink(path) == 0 || errno == ENOENT else { throw POSIXError(errno) }
  }

  struct POSIXError: Error {
    let number: Int32
    init(_ number: Int32) { self.number = number }
  }
}
