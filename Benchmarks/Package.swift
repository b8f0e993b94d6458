// swift-tools-version: 6.3
import PackageDescription

/// A package of its own: it sees the public products and nothing else.
let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "cachefetch", path: "..")],
  targets: [
    .executableTarget(
      name: "bench",
      dependencies: [
        .product(name: "DataService", package: "cachefetch"),
        .product(name: "CacheStore", package: "cachefetch"),
        .product(name: "Launch", package: "cachefetch"),
        .product(name: "RedisTier", package: "cachefetch"),
      ]),
    .executableTarget(name: "urlsession-peer"),
  ],
  swiftLanguageModes: [.v6]
)
