// swift-tools-version: 6.3
import PackageDescription

let package = Package(
  name: "LaunchDemo",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "cachefetch", path: "../..")],
  targets: [
    .executableTarget(
      name: "LaunchDemo",
      dependencies: [
        .product(name: "CacheStore", package: "cachefetch"),
        .product(name: "DataService", package: "cachefetch"), .product(name: "Launch", package: "cachefetch"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
