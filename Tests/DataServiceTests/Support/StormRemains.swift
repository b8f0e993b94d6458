import DataService
import Foundation
import TestSupport

/// What a storm of loads may have left behind, told apart from what the suites beside it have open.
struct StormRemains: Sendable {
  /// Refers to an object without keeping it.
  struct Weak: Sendable { weak let object: (any AnyObject & Sendable)? }

  struct Count: Equatable {
    /// Loads whose callback is still referred to.
    var flights = 0
    /// The service and its transport.
    var services = 0
    /// Descriptors of files in the store's folder.
    var files = 0
    /// Connections with the storm's origins.
    var connections = 0

    static let none = Count()
  }

  /// Those that were still referred to at the last count, so that counting again does not visit all of them.
  private var flights: [Weak]
  private let services: [Weak]
  private let folder: String

  init(flights: [Weak], service: DataService, transport: any AnyObject & Sendable, folder: String) {
    self.flights = flights
    services = [Weak(object: service), Weak(object: transport)]
    self.folder = folder
  }

  mutating func count(ports: [Int?]) throws -> Count {
    var count = Count()
    flights.removeAll { $0.object == nil }
    count.flights = flights.count
    count.services = services.count { $0.object != nil }
    count.files = try openFiles(below: folder).count
    for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
      guard let descriptor = Int32(name) else { continue }
      if let port = Self.peerPort(of: descriptor), ports.contains(port) { count.connections += 1 }
    }
    return count
  }

  private static func peerPort(of descriptor: Int32) -> Int? {
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isConnected = withUnsafeMutablePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) == 0 }
    }
    guard isConnected, address.sin_family == sa_family_t(AF_INET) else { return nil }
    return Int(UInt16(bigEndian: address.sin_port))
  }
}
