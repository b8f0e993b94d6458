// The one file that names a system's C library: the whole of it for every other file, and, under one name each, what the
// systems spell differently.
#if canImport(Darwin)
  internal import CoreFoundation
  @_exported public import Darwin
#elseif canImport(Glibc)
  @_exported public import Glibc
#elseif canImport(Musl)
  @_exported public import Musl
#endif
#if os(Linux) && !PORTABLE
  internal import CPlatform
#endif

#if canImport(Darwin)
  /// Commands of `fcntl` for locks of an open file, which no module map exports.
  package let (F_OFD_SETLK, F_OFD_GETLK): (Int32, Int32) = (90, 92)
  /// The variable that names the user's folder of caches, and that folder in the home folder.
  package let (cachesVariable, cachesInHome): (String?, String) = (nil, "/Library/Caches")

  /// Counts through sleep.
  @inlinable package var bootClock: clockid_t { CLOCK_MONOTONIC }
  @inlinable package var currentThread: UInt { UInt(bitPattern: pthread_self()) }

  extension stat {
    package var modified: timespec { st_mtimespec }
  }

  /// The kernel's identifier of this boot; empty if it cannot be read.
  package func bootIdentifier() -> String {
    var bytes = [UInt8](repeating: 0, count: 64)
    var size = bytes.count
    guard sysctlbyname("kern.bootsessionuuid", &bytes, &size, nil, 0) == 0 else { return "" }
    return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
  }

  /// The bundle's identifier.
  package func programIdentifier() -> String? { CFBundleGetIdentifier(CFBundleGetMainBundle()) as String? }

  /// Allocates that many bytes on the disk for an empty file; `false` where the disk has fewer.
  package func allocate(_ bytes: Int64, in file: Int32) -> Bool {
    var room = fstore_t(
      fst_flags: UInt32(F_ALLOCATEALL), fst_posmode: F_PEOFPOSMODE, fst_offset: 0, fst_length: bytes,
      fst_bytesalloc: 0)
    return fcntl(file, F_PREALLOCATE, &room) != -1 && ftruncate(file, bytes) == 0
  }

  /// A socket that no child inherits, of a stream or of datagrams.
  package func makeSocket(_ family: Int32, ofDatagrams: Bool = false) -> Int32 {
    let descriptor = socket(family, ofDatagrams ? SOCK_DGRAM : SOCK_STREAM, 0)
    if descriptor >= 0 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    return descriptor
  }

  /// Sends on a socket; a broken connection raises no signal.
  package func sendQuietly(_ socket: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    var one: Int32 = 1
    setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &one, socklen_t(MemoryLayout<Int32>.size))
    return send(socket, bytes, count, 0)
  }

  // Global and not a closure: the 6.3.1 compiler crashes on the closure's isolation check.
  private func runThread(_ context: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    runBody(of: context)
    return nil
  }

  func create(_ attributes: inout pthread_attr_t, _ context: UnsafeMutableRawPointer) -> Int32 {
    var thread: pthread_t?
    return pthread_create(&thread, &attributes, runThread, context)
  }
#else
  package let (F_OFD_SETLK, F_OFD_GETLK): (Int32, Int32) = (37, 36)
  package let (cachesVariable, cachesInHome): (String?, String) = ("XDG_CACHE_HOME", "/.cache")

  @inlinable package var bootClock: clockid_t { CLOCK_BOOTTIME }
  @inlinable package var currentThread: UInt { UInt(pthread_self()) }

  extension stat {
    package var modified: timespec { st_mtim }
  }

  package func bootIdentifier() -> String {
    let file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return "" }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = read(file, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(0, count)).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
  }

  /// The path of the executable file.
  package func programIdentifier() -> String? {
    var path = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &path, path.count)
    return count > 0 ? String(decoding: path.prefix(count), as: UTF8.self) : nil
  }

  package func allocate(_ bytes: Int64, in file: Int32) -> Bool {
    posix_fallocate(file, 0, off_t(bytes)) == 0
  }

  package func makeSocket(_ family: Int32, ofDatagrams: Bool = false) -> Int32 {
    socket(family, Int32((ofDatagrams ? SOCK_DGRAM : SOCK_STREAM).rawValue | SOCK_CLOEXEC.rawValue), 0)
  }

  package func sendQuietly(_ socket: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    send(socket, bytes, count, Int32(MSG_NOSIGNAL))
  }

  private func runThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let context { runBody(of: context) }
    return nil
  }

  func create(_ attributes: inout pthread_attr_t, _ context: UnsafeMutableRawPointer) -> Int32 {
    var thread = pthread_t()
    return pthread_create(&thread, &attributes, runThread, context)
  }
#endif

#if os(Linux) && !PORTABLE
  /// Makes a descriptor, or two, that is readable once eight bytes have been written to the other; negative where none
  /// is left.
  package func makeWakeup() -> (reading: Int32, writing: Int32) {
    let event = cplatform_make_event()
    return (event, event)
  }

  /// Starts writing a file to the disk without waiting for it. A hint, for which other systems have no call.
  package func beginWriting(_ file: Int32) { _ = cplatform_begin_writing(file) }
#else
  package func makeWakeup() -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return (-1, -1) }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    return (ends[0], ends[1])
  }

  package func beginWriting(_ file: Int32) {}
#endif
