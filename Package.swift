// swift-tools-version: 6.3
import PackageDescription

/// Whether the package is built as on Apple's systems: the libraries, with URLSession in libcurl's place and without the calls
/// of `CPlatform`, which only Linux has. `PORTABLE=1` does so on Linux, in a build folder of its own (`scripts/check portable`).
#if os(Linux)
  let isPortable = Context.environment["PORTABLE"] == "1"
#else
  let isPortable = true
#endif

/// The same strictness for every Swift target; warnings become errors in `scripts/check`.
let strict: [SwiftSetting] =
  [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ] + (isPortable ? [.define("PORTABLE")] : [])

/// Each system's C library and Foundation, under one name each; no other module names them. And the locks.
let platform: [Target.Dependency] = ["Guards", "PlatformC", "PlatformFoundation"]

/// Checked copies in the C library, which need an optimiser.
let fortified: [CSetting] = [
  .define("_FORTIFY_SOURCE", to: "2", .when(platforms: [.linux], configuration: .release))
]

/// What the libraries call of Linux alone.
let linux: [Target.Dependency] = isPortable ? [] : ["CPlatform"]

/// Whether the tests are those that `scripts/sanitize` runs, which a sanitizer's build compiles alone.
let isSanitized = Context.environment["SANITIZED"] == "1"

/// Where the tests of a target are. The portable build has those of what is different in it, as links to the others' files:
/// files, digests, observers, the network thread, the transport, and whole loads over it. A sanitizer's has links to its own.
func tests(of target: String) -> String {
  if isPortable { return "Tests/Portable/\(target)" }
  return isSanitized ? "Tests/Sanitized/\(target)" : "Tests/\(target)"
}

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
  ],
  targets: [
    .systemLibrary(
      name: "CSQLite", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    .systemLibrary(
      name: "CSodium", providers: [.apt(["libsodium-dev"]), .brew(["libsodium"])]),
    .target(name: "CXXHash", cSettings: fortified),
    .target(name: "PlatformC", swiftSettings: strict),
    .target(name: "Guards", dependencies: ["PlatformC"], swiftSettings: strict),
    .target(name: "PlatformFoundation", swiftSettings: strict),
    .target(
      name: "CacheStore",
      // Where there is CryptoKit, it makes the keyed digests.
      dependencies: platform + linux + [
        "CSQLite", .target(name: "CSodium", condition: .when(platforms: [.linux])), "CXXHash",
      ],
      resources: [.embedInCode("schema.sql")], swiftSettings: strict),
    .target(
      name: "DataService",
      dependencies: platform + linux + ["CacheStore"] + (isPortable ? [] : ["CCurl"]),
      exclude: ["URLSessionTransport" + (isPortable ? "/Exports.swift" : "")], swiftSettings: strict),
    // A part of DataService where it is the only transport. Apart from it where libcurl is the default, so that nobody
    // else pays for linking FoundationNetworking.
    .target(
      name: "URLSessionTransport", dependencies: ["CacheStore", "DataService", "Guards"],
      path: "Sources/DataService/URLSessionTransport", exclude: isPortable ? ["Session"] : [],
      swiftSettings: strict),
    // For the tests of programs, and for ours.
    .target(
      name: "DataServiceTesting", dependencies: platform + ["CacheStore", "DataService"],
      swiftSettings: strict),
    // Without package access: what it needs, every user of the package can have.
    .target(
      name: "Launch", dependencies: platform + ["CacheStore", "DataService"], packageAccess: false,
      swiftSettings: strict
    ),
    .target(
      name: "FixtureServer", dependencies: platform, path: "Tests/FixtureServer", swiftSettings: strict),
    .target(name: "CTestSupport", path: "Tests/CTestSupport"),
    .target(
      name: "TestSupport",
      dependencies: platform + [
        "CacheStore", "CSQLite", "CTestSupport", "DataService", "DataServiceTesting", "FixtureServer",
      ],
      path: "Tests/TestSupport", swiftSettings: strict),
    .target(name: "TestTurns", path: "Tests/TestTurns", swiftSettings: strict),
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
      path: tests(of: "CacheStoreTests"), exclude: isPortable || isSanitized ? [] : ["Fixtures"],
      swiftSettings: strict),
    .testTarget(
      name: "DataServiceTests",
      dependencies: platform + [
        "CacheStore", "CFaultVFS", "DataService", "DataServiceTesting", "CSQLite", "FixtureServer",
        "StoreDriver", "TestSupport", "TestTurns", "URLSessionTransport",
      ] + (isPortable ? [] : ["CCurl"]), path: tests(of: "DataServiceTests"),
      swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)

// The command, and what shows, drives and tests it, are Linux's.
if !isPortable {
  package.products += [
    // Linked by whoever names a fleet's tier, and by nobody else.
    .library(name: "RedisTier", targets: ["RedisTier"]),
    .executable(name: "cachefetch", targets: ["cachefetch"]),
    .executable(name: "demo-origin", targets: ["DemoOrigin"]),
  ]
  package.targets += [
    .target(name: "CCurl", cSettings: fortified),
    // The command's own: what no library may do to the process it is part of.
    .target(name: "CProcess", cSettings: fortified),
    .systemLibrary(name: "CPlatform"),
    .target(
      name: "RedisTier", dependencies: platform + ["CacheStore", "CSodium", "DataService"],
      swiftSettings: strict),
    .testTarget(
      name: "RedisTierTests",
      dependencies: platform + [
        "CacheStore", "CSodium", "DataService", "DataServiceTesting", "FixtureServer", "RedisTier",
        "TestSupport", "TestTurns",
      ],
      swiftSettings: strict),
    .executableTarget(
      name: "cachefetch",
      dependencies: platform + [
        "CacheStore", "CPlatform", "CProcess", "DataService", "Launch", "RedisTier",
      ],
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

    .executableTarget(
      name: "DemoOrigin", dependencies: platform + ["FixtureServer", "TestSupport"],
      path: "Tests/DemoOrigin",
      swiftSettings: strict),
    .testTarget(
      name: "FixtureServerTests", dependencies: platform + ["FixtureServer", "TestSupport", "TestTurns"],
      swiftSettings: strict),
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
      path: tests(of: "LaunchTests"), swiftSettings: strict),
    .testTarget(
      name: "cachefetchTests",
      dependencies: platform + [
        "cachefetch", "CacheStore", "DataService", "DataServiceTesting", "DemoOrigin", "FixtureServer",
        "Launch", "StoreDriver",
        "TestSupport", "TestTurns",
      ],
      path: tests(of: "cachefetchTests"), exclude: isSanitized ? [] : ["Screens"], swiftSettings: strict),
  ]
}

if isSanitized {
  let others: Set = ["DataServiceTestingTests", "FixtureServerTests", "NewsModelsTests"]
  package.targets.removeAll { others.contains($0.name) }
}
