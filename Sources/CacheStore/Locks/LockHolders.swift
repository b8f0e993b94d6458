internal import PlatformC

/// The other processes that block writing or truncating the store's files, as far as the system reveals them.
///
/// Reads `/proc` instead of querying locks through a descriptor: closing that would drop this process's own locks.
/// Finds no process on systems other than Linux, and none of other containers.
enum LockHolders {
  /// A process, as a message names it.
  struct Process: Hashable {
    let id: Int32
    /// The name of its program, cut to 15 bytes by the system.
    let name: String

    var description: String { name.isEmpty ? "process \(id)" : "process \(id) (\(name))" }
  }

  /// SQLite's lock bytes in the shared memory: writer, checkpointer, recovery and five readers. Every open connection
  /// holds the byte after them, which blocks no one.
  private static let sharedMemoryBytes: ClosedRange<Int64> = 120...127

  /// The other processes that read or write the log now, or lock the database exclusively; where no lock is found,
  /// those that have the files open.
  static func processes(on files: StoreFiles) -> [Process] {
    let resolved = (try? files.resolved()) ?? files.database
    var found = Set<Int32>()
    let memory = FileStatus(path: files.sharedMemory)?.identity.inode
    let database = FileStatus(path: files.database)?.identity.inode
    // Read twice: the kernel gives the list a page at a time, and a lock that ends between two pages moves the next
    // ones forward, so that one of them is left out.
    for text in ["/proc/locks", "/proc/locks"].compactMap(contents) {
      for line in text.split(separator: "\n") {
        guard let lock = Lock(line) else { continue }
        let isInTheWay =
          lock.inode == memory && lock.bytes.overlaps(sharedMemoryBytes)
          || lock.inode == database && lock.isExclusive
        if isInTheWay { found.insert(lock.process) }
      }
    }
    found.remove(getpid())
    if found.isEmpty { found = holders(ofOpen: [resolved, resolved + "-wal", resolved + "-shm"]) }
    return found.sorted().map { Process(id: $0, name: name(of: $0)) }
  }

  /// The processes in words: `process 12 (sqlite3) and process 14 (cachefetch)`; `another process` where none is known.
  static func description(on files: StoreFiles) -> String {
    let all = processes(on: files).map(\.description)
    return all.isEmpty ? "another process" : all.joined(separator: " and ")
  }

  /// A line of `/proc/locks`: `1: POSIX  ADVISORY  READ 1234 00:2f:5678 124 124`.
  struct Lock {
    let process: Int32
    let inode: UInt64
    let isExclusive: Bool
    let bytes: ClosedRange<Int64>

    /// `nil` for other lines, such as that of a waiting process.
    init?(_ line: Substring) {
      let words = line.split(separator: " ")
      guard words.count == 8, words[1] == "POSIX", let process = Int32(words[4]), process > 0,
        let inode = words[5].split(separator: ":").last.flatMap({ UInt64($0) }), let start = Int64(words[6])
      else { return nil }
      self.process = process
      self.inode = inode
      isExclusive = words[3] == "WRITE"
      bytes = start...max(start, words[7] == "EOF" ? .max : Int64(words[7]) ?? start)
    }
  }

  private static func holders(ofOpen paths: Set<String>) -> Set<Int32> {
    var found = Set<Int32>()
    for entry in FolderNames.all(in: "/proc") {
      guard let id = Int32(entry), id != getpid() else { continue }
      for name in FolderNames.all(in: "/proc/\(entry)/fd")
      where paths.contains(target("/proc/\(entry)/fd/\(name)")) {
        found.insert(id)
      }
    }
    return found
  }

  private static func target(_ link: String) -> String {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink(link, &buffer, buffer.count)
    return count > 0 ? String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self) : ""
  }

  private static func name(of process: Int32) -> String { shown(contents(of: "/proc/\(process)/comm") ?? "") }

  /// A program's name as it is shown. A program chooses its own name, so only printable ASCII is kept.
  static func shown(_ name: String) -> String {
    String(
      name.unicodeScalars.filter { $0.isASCII && $0.value > 0x20 && $0.value < 0x7F }.map(Character.init))
  }

  private static func contents(of path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
      bytes += buffer[..<count]
    }
  }
}
