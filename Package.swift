// swift-tools-version: 6.3
import PackageDescription

/// The same strictness for every Swift target; warnings become errors in `scripts/check`.
let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// Each system's C library and Foundation, under one name each; no other module names them.
let platform: [Target.Dependency] = ["PlatformC", "PlatformFoundation"]

/// Checked copies in the C library, which need an optimiser.
let fortified: [CSetting] = [
  .define("_FORTIFY_SOURCE", to: "2", .when(platforms: [.linux], configuration: .release))
]

let package = Package(
  name: "cachefetch",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "CacheStore", targets: ["CacheStore"]),
    .library(name: "DataService", targets: ["DataService"]),
    // With an origin on loopback, for tests over real sockets.
    .library(name: "DataServiceTesting", targets: ["DataServiceTesting", "FixtureServer"]),
    .library(name: "Launch", targets: ["Launch"]),
    .library(name: "URLSessionTransport", targets: ["URLSessionTransport"]),
    .executable(name: "cachefetch", targets: ["cachefetch"]),
    .executable(name: "demo-origin", targets: ["DemoOrigin"]),
  ],
  targets: [
    .systemLibrary(
      name: "CSQLite", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    .systemLibrary(
      name: "CSodium", providers: [.apt(["libsodium-dev"]), .brew(["libsodium"])]),
    .target(name: "CXXHash", cSettings: fortified),
    .target(name: "CCurl", cSettings: fortified),
    // The command's own: what no library may do to the process it is part of.
    .target(name: "CProcess", cSettings: fortified),
    .systemLibrary(name: "CPlatform"),
    .target(name: "PlatformC", swiftSettings: strict),
    .target(name: "PlatformFoundation", swiftSettings: strict),
    .target(
      name: "CacheStore", dependencies: platform + ["CPlatform", "CSQLite", "CSodium", "CXXHash"],
      resources: [.embedInCode("schema.sql")], swiftSettings: strict),
    .target(
      name: "DataService", dependencies: platform + ["CacheStore", "CCurl", "CPlatform"],
      swiftSettings: strict),
    // Apart from DataService, so that nobody else pays for linking FoundationNetworking.
    .target(
      name: "URLSessionTransport", dependencies: ["CacheStore", "DataService"], swiftSettings: strict),
    // For the tests of programs, and for ours.
    .target(
      name: "DataServiceTesting", dependencies: platform + ["CacheStore", "DataService"],
      swiftSettings: strict),
    // Without package access: what it needs, every user of the package can have.
    .target(
      name: "Launch", dependencies: platform + ["CacheStore", "DataService"], packageAccess: false,
      swiftSettings: strict
    ),
    .executableTarget(
      name: "cachefetch",
      dependencies: platform + ["CacheStore", "CPlatform", "CProcess", "DataService", "Launch"],
      swiftSettings: strict),

    // A package of its own to its users; here too, so that a test can drive it through a terminal.
    .executableTarget(
      name: "LaunchDemo", dependencies: ["CacheStore", "DataService", "Launch"],
      path: "Examples/LaunchDemo/Sources/LaunchDemo", packageAccess: false),
    // Another, whose tests are those of an application.
    .target(
      name: "NewsModels", dependencies: ["DataService", "Launch"],
      path: "Examples/NewsReader/Sources/NewsModels", packageAccess: false),
    .executableTarget(
      name: "NewsReader", dependencies: ["DataService", "Launch", "NewsModels"],
      path: "Examples/NewsReader/Sources/NewsReader", packageAccess: false),
    .testTarget(
      name: "NewsModelsTests", dependencies: ["DataService", "DataServiceTesting", "Launch", "NewsModels"],
      path: "Examples/NewsReader/Tests/NewsModelsTests", packageAccess: false),

    .target(
      name: "FixtureServer", dependencies: platform, path: "Tests/FixtureServer", swiftSettings: strict),
    .executableTarget(
      name: "DemoOrigin", dependencies: platform + ["FixtureServer", "TestSupport"],
      path: "Tests/DemoOrigin",
      swiftSettings: strict),
    .target(name: "CTestSupport", path: "Tests/CTestSupport"),
    .target(
      name: "TestSupport",
      dependencies: platform + ["CacheStore", "CSQLite", "CTestSupport", "DataService", "FixtureServer"],
      path: "Tests/TestSupport", swiftSettings: strict),
    .target(name: "TestTurns", path: "Tests/TestTurns", swiftSettings: strict),
    .testTarget(
      name: "FixtureServerTests", dependencies: platform + ["FixtureServer", "TestSupport", "TestTurns"],
      swiftSettings: strict),
    .target(name: "CFaultVFS", dependencies: ["CSQLite"], path: "Tests/CFaultVFS"),
    .executableTarget(
      name: "StoreDriver",
      dependencies: platform + ["CacheStore", "CFaultVFS", "DataService", "TestSupport"],
      path: "Tests/StoreDriver", swiftSettings: strict),
    .testTarget(
      name: "CacheStoreTests",
      dependencies: platform + [
        "CacheStore", "CFaultVFS", "CSQLite", "CTestSupport", "CXXHash", "StoreDriver", "TestSupport",
        "TestTurns",
      ],
      exclude: ["Fixtures"], swiftSettings: strict),
    .testTarget(
      name: "DataServiceTests",
      dependencies: platform + [
        "CacheStore", "CCurl", "CFaultVFS", "DataService", "DataServiceTesting", "CSQLite", "FixtureServer",
        "StoreDriver",
        "TestSupport", "TestTurns",
        "URLSessionTransport",
      ], swiftSettings: strict),
    .testTarget(
      name: "DataServiceTestingTests",
      dependencies: platform + ["CacheStore", "DataService", "DataServiceTesting", "TestTurns"],
      swiftSettings: strict),
    .testTarget(
      name: "LaunchTests",
      dependencies: platform + [
        "CacheStore", "DataService", "DataServiceTesting", "FixtureServer", "Launch", "LaunchDemo",
        "NewsReader", "TestSupport", "TestTurns",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "cachefetchTests",
      dependencies: platform + [
        "cachefetch", "CacheStore", "DataService", "DataServiceTesting", "DemoOrigin", "FixtureServer",
        "Launch", "StoreDriver",
        "TestSupport", "TestTurns",
      ],
      exclude: ["Screens"], swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)
