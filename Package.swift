// swift-tools-version: 6.3
import PackageDescription

/// Whether the package is built as on Apple's systems: the libraries alone, with URLSession in libcurl's place and without
/// Linux's own calls. `PORTABLE=1` does so on Linux, in a build folder of its own (`scripts/check portable`).
#if os(Linux)
  let isPortable = Context.environment["PORTABLE"] == "1"
#else
  let isPortable = true
#endif

/// The test targets that are built, and the files below `Tests` that they leave out, where a script chooses tests for a
/// sanitizer or for the portable build (`choose_tests`). Else all are built, and none in the portable build.
let chosenTests = (Context.environment["CACHEFETCH_TESTS"] ?? (isPortable ? "" : nil))?.split(separator: " ")
let leftOut = Context.environment["CACHEFETCH_LEFT_OUT"]?.split(separator: " ") ?? []

/// Each system's C library and Foundation, under one name each; no other module names them. And the locks.
let platform: [Target.Dependency] = ["Guards", "PlatformC", "PlatformFoundation"]
/// What the libraries call of Linux alone, libcurl, and the tier.
let linux: [Target.Dependency] = isPortable ? [] : ["CPlatform"]
let curl: [Target.Dependency] = isPortable ? [] : ["CCurl"]
let networking: [Target.Dependency] = isPortable ? ["PlatformNetworking"] : []
let tier: [Target.Dependency] = isPortable ? [] : ["RedisTier"]
/// What is built on the service uses these, and most tests more.
let service = platform + ["CacheStore", "DataService"]
let testing = service + ["DataServiceTesting", "FixtureServer", "TestSupport", "TestTurns"]
/// Why the store reads file times and free space, for Apple's systems.
let manifest = "PrivacyInfo.xcprivacy"
#if os(Linux)
  let (manifestResource, withoutManifest): ([Resource], [String]) = ([], [manifest])
  let (otherFoundation, otherDigest) = ("Apple.swift", "Files/KeyedDigest+Apple.swift")
#else
  let (manifestResource, withoutManifest): ([Resource], [String]) = ([.copy(manifest)], [])
  let (otherFoundation, otherDigest) = ("Essentials.swift", "Files/KeyedDigest.swift")
#endif
/// Checked copies in the C library, which need an optimiser.
let fortified = CSetting.define(
  "_FORTIFY_SOURCE", to: "2", .when(platforms: [.linux], configuration: .release))

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
    // Linked by whoever names a fleet's tier, and by nobody else.
    .library(name: "RedisTier", targets: ["RedisTier"]),
    .executable(name: "cachefetch", targets: ["cachefetch"]),
    .executable(name: "demo-origin", targets: ["DemoOrigin"]),
  ],
  targets: [
    .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    .systemLibrary(name: "CSodium", providers: [.apt(["libsodium-dev"]), .brew(["libsodium"])]),
    .systemLibrary(name: "CPlatform"),
    .target(name: "CXXHash", cSettings: [fortified]),
    .target(name: "CCurl", cSettings: [fortified]),
    // The command's own: what no library may do to the process it is part of.
    .target(name: "CProcess", cSettings: [fortified]),
    .target(name: "PlatformC", dependencies: linux),
    .target(name: "PlatformFoundation", exclude: [otherFoundation]),
    .target(name: "PlatformNetworking"),
    .target(name: "Guards", dependencies: ["PlatformC"]),
    .target(
      name: "CacheStore",
      dependencies: platform
        + ["CSQLite", .target(name: "CSodium", condition: .when(platforms: [.linux])), "CXXHash"],
      exclude: withoutManifest + [
        otherDigest, "Store/" + (isPortable ? "WatchedFiles.swift" : "WatchedFiles+Portable.swift"),
      ],
      resources: [.embedInCode("schema.sql")] + manifestResource),
    .target(
      name: "DataService", dependencies: platform + curl + networking + ["CacheStore"],
      exclude: isPortable
        ? ["Service/SystemTransport.swift", "Transport/Curl", "Transport/ExitGuard.swift"]
          + ["URLSessionTransport/Exports.swift"]
        : [
          "Service/SystemTransport+Portable.swift", "Transport/ExitGuard+Portable.swift",
          "URLSessionTransport",
        ]),
    // DataService has it where it is the only transport; elsewhere who does not link it is spared FoundationNetworking.
    .target(
      name: "URLSessionTransport",
      dependencies: ["CacheStore", "DataService", "Guards", "PlatformNetworking"],
      path: "Sources/DataService/URLSessionTransport", exclude: isPortable ? ["Session"] : []),
    .target(name: "DataServiceTesting", dependencies: service),
    // Without package access: what it needs, every user of the package can have.
    .target(name: "Launch", dependencies: service, packageAccess: false),
    .target(name: "RedisTier", dependencies: service + curl + ["CSodium"]),
    .executableTarget(
      name: "cachefetch",
      dependencies: service + ["CPlatform", "CProcess", "CSodium", "Launch", "RedisTier"],
      resources: ["css", "html", "js"].map { .embedInCode("Report/page.\($0)") }),
    // Packages of their own to their users; here too, so that tests can drive them through a terminal.
    .executableTarget(
      name: "LaunchDemo", dependencies: ["CacheStore", "DataService", "Launch"],
      path: "Examples/LaunchDemo/Sources/LaunchDemo", packageAccess: false),
    .target(
      name: "NewsModels", dependencies: ["DataService", "Launch"],
      path: "Examples/NewsReader/Sources/NewsModels", packageAccess: false),
    .executableTarget(
      name: "NewsReader", dependencies: ["DataService", "Launch", "NewsModels"],
      path: "Examples/NewsReader/Sources/NewsReader", packageAccess: false),
    .testTarget(
      name: "NewsModelsTests", dependencies: ["DataService", "DataServiceTesting", "Launch", "NewsModels"],
      path: "Examples/NewsReader/Tests/NewsModelsTests", packageAccess: false),

    .target(name: "CTestSupport", path: "Tests/CTestSupport"),
    .target(name: "CFaultVFS", dependencies: ["CSQLite"], path: "Tests/CFaultVFS"),
    .target(name: "TestTurns", path: "Tests/TestTurns"),
    .target(name: "FixtureServer", dependencies: platform, path: "Tests/FixtureServer"),
    .target(
      name: "TestSupport",
      dependencies: service + tier + ["CSQLite", "CTestSupport", "DataServiceTesting", "FixtureServer"],
      path: "Tests/TestSupport"),
    .executableTarget(
      name: "StoreDriver", dependencies: service + ["CFaultVFS", "TestSupport"], path: "Tests/StoreDriver"),
    .executableTarget(
      name: "Interleavings", dependencies: service + ["TestSupport"], path: "Tests/Interleavings"),
    .executableTarget(
      name: "DemoOrigin", dependencies: platform + ["FixtureServer", "TestSupport"], path: "Tests/DemoOrigin"),
    .testTarget(
      name: "CacheStoreTests",
      dependencies: platform + ["CacheStore", "CFaultVFS", "CSQLite", "CTestSupport", "CXXHash"]
        + ["StoreDriver", "TestSupport", "TestTurns"], exclude: ["Fixtures"]),
    .testTarget(
      name: "DataServiceTests",
      dependencies: testing + curl
        + [
          "CFaultVFS", "CSQLite", "Interleavings", "PlatformNetworking", "StoreDriver", "URLSessionTransport",
        ]),
    .testTarget(name: "DataServiceTestingTests", dependencies: testing),
    .testTarget(name: "FixtureServerTests", dependencies: testing),
    .testTarget(name: "RedisTierTests", dependencies: testing + curl + ["CSodium", "RedisTier"]),
    .testTarget(name: "LaunchTests", dependencies: testing + ["Launch", "LaunchDemo", "NewsReader"]),
    .target(name: "ClashingNames", path: "Tests/ClashingNames"),
    // An application's module, as new projects set it up.
    .testTarget(
      name: "MainActorTests",
      dependencies: [
        "ClashingNames", "DataService", "DataServiceTesting", "PlatformFoundation", "TestTurns",
      ],
      swiftSettings: [.defaultIsolation(MainActor.self), .enableUpcomingFeature("InferIsolatedConformances")]),
    .testTarget(
      name: "cachefetchTests",
      dependencies: testing + tier + ["CSodium", "cachefetch", "DemoOrigin", "Launch", "StoreDriver"],
      exclude: ["Screens"]),
  ],
  swiftLanguageModes: [.v6]
)

// The command, the tier, and what shows and drives them, are Linux's.
if isPortable {
  let others: Set = ["CCurl", "CProcess", "DemoOrigin", "RedisTier", "cachefetch", "demo-origin"]
  package.products.removeAll { others.contains($0.name) }
  package.targets.removeAll { others.contains($0.name) || $0.isExample }
}

if let chosenTests {
  package.targets.removeAll { $0.type == .test && !chosenTests.contains($0.name[...]) }
  for target in package.targets where target.type == .test {
    let folder = target.name + "/"
    target.exclude += leftOut.filter { $0.hasPrefix(folder) }.map { String($0.dropFirst(folder.count)) }
  }
}

// The same strictness for every target but the examples, which are as a user's are.
for target in package.targets where target.type != .system && !target.isExample {
  let features = [
    "ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility", "NonisolatedNonsendingByDefault",
  ]
  target.swiftSettings = (target.swiftSettings ?? []) + features.map { .enableUpcomingFeature($0) }
  if isPortable { target.swiftSettings?.append(.define("PORTABLE")) }
}
extension Target { var isExample: Bool { path?.hasPrefix("Examples/") == true } }
