// swift-tools-version: 6.3
import PackageDescription

let package = Package(
  name: "Minimal",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "cachefetch", path: "../..")],
  targets: [
    .executableTarget(
      name: "minimal", dependencies: [.product(name: "DataService", package: "cachefetch")])
  ],
  swiftLanguageModes: [.v6]
)
