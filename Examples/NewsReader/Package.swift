// swift-tools-version: 6.3
import PackageDescription

let package = Package(
  name: "NewsReader",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "cachefetch", path: "../..")],
  targets: [
    // What every front end of it shares, SwiftUI's too.
    .target(
      name: "NewsModels",
      dependencies: [
        .product(name: "DataService", package: "cachefetch"), .product(name: "Launch", package: "cachefetch"),
      ]),
    // One in a terminal.
    .executableTarget(
      name: "NewsReader",
      dependencies: [
        "NewsModels", .product(name: "DataService", package: "cachefetch"),
        .product(name: "Launch", package: "cachefetch"),
      ]),
    .testTarget(
      name: "NewsModelsTests",
      dependencies: [
        "NewsModels", .product(name: "DataService", package: "cachefetch"),
        .product(name: "DataServiceTesting", package: "cachefetch"),
        .product(name: "Launch", package: "cachefetch"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
