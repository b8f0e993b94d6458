import CFaultVFS
import Testing

/// How a file system says that processes cannot share memory on it.
enum NoSharedMemory: CaseIterable, Sendable {
  /// With methods that are not there.
  case missing
  /// By refusing every mapping.
  case refused

  /// Puts such a file system between SQLite and the real one.
  /// - Returns: The name of the layer.
  func layer(_ name: String) -> String {
    let name = "\(name), \(self)"
    switch self {
    case .missing: #expect(faultvfs_register_without_shared_memory(name) != 0)
    case .refused:
      #expect(faultvfs_register(name) != 0)
      faultvfs_arm(name, Int32(FAULT_SHARED_MEMORY), 1, Int32(FAULT_ERROR), 1)
    }
    return name
  }
}
