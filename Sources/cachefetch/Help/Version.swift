internal import CacheStore
internal import DataService

/// `--version`.
enum Version {
  /// The versions of this program and its libraries, and the libraries' features.
  static func text() -> String {
    var transport: String
    do throws(DataServiceError) {
      transport = try TransportVersion.text()
    } catch {
      transport = "libcurl: \(Diagnostics.joined(error.message, error.advice))"
    }
    let linked = ProcessStart.linkedLibraries.map { "linked in: \($0)\n" } ?? ""
    return
      "cachefetch \(Release.version)\nSQLite \(SQLiteLibrary.version) (write-ahead log, strict tables)\n\(transport)\n\(linked)"
  }
}
