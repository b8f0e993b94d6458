import FixtureServer
import PlatformC
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

/// Where the store stands: places that cannot be written, that are no place at all, or that are full.
@Suite("Command: where the store stands", .inTurn) struct PlaceTests {
  /// A store that may not be written, in each of the ways that can come about.
  enum ReadOnly: String, CaseIterable, Sendable {
    case folderWithLog, folderWithLogAlone, folderWithoutLog, file, system, systemWithoutLog

    var hasLog: Bool { self == .folderWithLog || self == .folderWithLogAlone || self == .system }
    var isMount: Bool { self == .system || self == .systemWithoutLog }

    func prepare(_ shell: Shell) throws {
      if !hasLog {
        try shell.store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        unlink(shell.file("store.sqlite-wal"))
      }
      if !hasLog || self == .folderWithLogAlone { unlink(shell.file("store.sqlite-shm")) }
      if isMount { return }
      for name in try shell.store.folder.names() { chmod(shell.file(name), 0o400) }
      if self != .file { chmod(shell.store.folder.path, 0o555) }
    }
  }

  @Test(
    "a store that may not be written is served from, says readOnly and warns of nothing",
    arguments: ReadOnly.allCases)
  func readOnly(place: ReadOnly) async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    #expect(try await shell.run(origin.url).status == 0)
    try place.prepare(shell)
    let names = try shell.store.folder.names()
    #expect(names.contains("store.sqlite-wal") == place.hasLog)
    origin.answer(.ok("two"))
    for _ in 1...2 {
      let run = try await confined(shell, place, "--json", origin.url)
      #expect(run.status == 0 && run.errorText.isEmpty, "\(run.errorText)")
      #expect(run.lines.count == 2)
      #expect(
        run.lines.first?.contains("\"delivery\":\"stored\"") == true
          && run.outputText.contains("\"body\":\"one\""))
      #expect(
        run.lines.last?.contains("\"body\":\"two\"") == true
          && run.lines.last?.contains("\"kept\":false,\"kept_reason\":\"readOnly\"") == true,
        "\(run.outputText)")
    }
    #expect(try await confined(shell, place, "doctor").status == 0)
    origin.server.stop()
    let offline = try await confined(shell, place, "-q", "--offline", origin.url)
    #expect(offline.status == 0 && offline.outputText == "one")
    let unreachable = try await confined(shell, place, "--print", "stored", origin.url)
    #expect(unreachable.outputText == "one")
    if place != .file { #expect(try shell.store.folder.names() == names, "nothing was put beside it") }
    chmod(shell.store.folder.path, 0o700)
  }

  @Test func `a store whose log is there is written, though its folder may not be`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    #expect(try await shell.run(origin.url).status == 0)
    chmod(shell.store.folder.path, 0o555)
    origin.answer(.ok("two"))
    let run = try await confined(shell, .file, "--json", origin.url)
    #expect(run.lines.last?.contains("\"kept\":true") == true, "\(run.outputText)\(run.errorText)")
    let doctor = try await confined(shell, .file, "doctor")
    #expect(doctor.status == 0 && !doctor.outputText.contains("may not be written"), "\(doctor.outputText)")
    chmod(shell.store.folder.path, 0o700)
  }

  @Test func `in a folder that may not be written and holds no store, what is fresh is delivered`()
    async throws
  {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    chmod(shell.store.folder.path, 0o555)
    let run = try await confined(shell, .file, "--json", "-u", "a:b", origin.url, origin.server.url + "/y")
    #expect(run.status == 0 && run.lines.count == 2)
    #expect(
      run.errorText.hasPrefix("cachefetch: cannot make a store at \(shell.store.path): ")
        && run.errorText.contains("Permission denied: nothing is kept; name a store you may write to")
        && run.errorText.split(separator: "\n").count == 1, "\(run.errorText)")
    #expect(run.outputText.contains("\"kept_reason\":\"readOnly\""))
    #expect(try await confined(shell, .file, "-q", origin.url).errorText.isEmpty)
    for verb in ["diff", "preload"] {
      let run = try await confined(shell, .file, verb, origin.url)
      #expect(run.errorText.contains("(the store is only read)"), "\(run.errorText)")
      #expect(run.errorText.split(separator: "--store PATH").count == 2, "\(run.errorText)")
    }
    chmod(shell.store.folder.path, 0o700)
    #expect(try shell.store.folder.names().isEmpty)
  }

  @Test func `in a home folder that may not be written one line says so, as doctor does`()
    async throws
  {
    var shell = try Shell()
    for name in ["CACHEFETCH_STORE", "XDG_CACHE_HOME"] { shell.environment[name] = String?.none }
    let home = shell.file("home")
    mkdir(home, 0o555)
    shell.environment["HOME"] = home
    let origin = try ChangingOrigin()
    for _ in 1...2 {
      let run = try await confined(shell, .file, "--json", origin.url)
      #expect(run.status == 0 && run.errorText.split(separator: "\n").count == 1, "\(run.errorText)")
      #expect(
        run.errorText.contains("cannot make a store at \(home)/.cache/")
          && run.errorText.contains("\(home): Permission denied"), "\(run.errorText)")
      #expect(run.outputText.contains("\"kept\":false,\"kept_reason\":\"readOnly\""), "\(run.outputText)")
    }
    let doctor = try await confined(shell, .file, "doctor")
    #expect(doctor.status == 1, "\(doctor.outputText)")
    #expect(
      doctor.outputText.contains("wrong  file: cannot make a store at ")
        && doctor.outputText.contains("\(home): Permission denied"), "\(doctor.outputText)")
    chmod(home, 0o700)
  }

  @Test func `doctor on an exported copy, and on one that may not be written, says what it is`()
    async throws
  {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    #expect(try await shell.run("export", "copy.cfx").status == 0)
    let doctor = try await shell.run("doctor", "--store", "copy.cfx")
    #expect(
      doctor.outputText.contains("without a write-ahead log, as an exported copy is"),
      "\(doctor.outputText)")
    #expect(!doctor.outputText.contains("could not be shared"))
    chmod(shell.file("copy.cfx"), 0o400)
    chmod(shell.store.folder.path, 0o555)
    let confined = try await confined(shell, .file, "doctor", "--store", shell.file("copy.cfx"))
    #expect(confined.status == 0, "\(confined.outputText)")
    #expect(confined.outputText.contains("may not be written: what is stored is delivered"))
    chmod(shell.store.folder.path, 0o700)
  }

  @Test func `without a home folder and a store's name, what is fresh is delivered and the way out said`()
    async throws
  {
    var shell = try Shell()
    for name in ["CACHEFETCH_STORE", "HOME", "XDG_CACHE_HOME"] { shell.environment[name] = String?.none }
    let origin = try ChangingOrigin()
    let run = try await confined(shell, .file, "--json", origin.url)
    #expect(run.status == 0 && run.outputText.contains("\"body\":\"one\""))
    #expect(run.outputText.contains("\"kept\":false"))
    #expect(
      run.errorText.contains("there is no home folder") && run.errorText.contains("--store PATH"),
      "\(run.errorText)")
    #expect(run.errorText.split(separator: "\n").count == 1)
    let doctor = try await confined(shell, .file, "doctor")
    #expect(doctor.status == 1 && doctor.outputText.contains("there is no home folder"))
    // A cache folder by its own name is place enough.
    chmod(shell.store.folder.path, 0o777)
    shell.environment["XDG_CACHE_HOME"] = shell.file("cache")
    #expect(try await confined(shell, .file, "-q", origin.url).errorText.isEmpty)
    #expect(shell.store.folder.contains("cache/cachefetch/store.sqlite"))
  }

  @Test("the home folder's name may be any", arguments: ["a b", "Zoë Ünal/日本", "#1 50% ?x=&y", "'\"$(x)"])
  func names(name: String) async throws {
    var shell = try Shell()
    shell.environment["CACHEFETCH_STORE"] = String?.none
    shell.environment["XDG_CACHE_HOME"] = String?.none
    shell.environment["HOME"] = shell.file(name)
    let origin = try ChangingOrigin()
    let fresh = try await shell.run("-q", origin.url)
    #expect(fresh.outputText == "one" && fresh.errorText.isEmpty)
    let path = name + "/.cache/cachefetch/store.sqlite"
    #expect(shell.store.folder.contains(path))
    #expect(try await shell.run("-q", "--offline", origin.url).outputText == "one")
    // The name that stands for a file nobody changes is made from the path.
    try RawDatabase(shell.file(path)).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for ending in ["-wal", "-shm"] { unlink(shell.file(path + ending)) }
    chmod(shell.file(name + "/.cache/cachefetch"), 0o555)
    #expect(try await confined(shell, .file, "-q", "--offline", origin.url).outputText == "one")
    chmod(shell.file(name + "/.cache/cachefetch"), 0o700)
  }

  @Test func `a symbolic link in the store's place is refused, and what it leads to left alone`()
    async throws
  {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let target = try shell.store.folder.write("somebody's file", to: "real")
    symlink(target, shell.store.path)
    let run = try await shell.run("--json", origin.url)
    #expect(
      run.status == 0 && run.outputText.contains("\"body\":\"one\"")
        && run.outputText.contains("\"kept\":false"))
    #expect(run.errorText.contains("is a symbolic link, which is refused"), "\(run.errorText)")
    #expect(try await shell.run("doctor").status == 1)
    #expect(try shell.store.folder.text(of: "real") == "somebody's file")
    #expect(try shell.store.folder.names() == ["real", "store.sqlite"])
  }

  /// A file system of three megabytes, and a body of twelve.
  @Test func `on a disk that is really full the body is delivered whole, and the old row stays`()
    async throws
  {
    var random = SeededGenerator(for: "full disk")
    let content = random.bytes(12 << 20)
    let origin = try FixtureServer { request, connection in
      try connection.send(request.path == "/small" ? .ok("small") : .ok(content, ["ETag": "\"1\""]))
    }
    let shell = try Shell()
    let script = """
      set -e; mkdir disk; mount -t tmpfs -o size=3m,mode=700 none disk; export CACHEFETCH_STORE=$PWD/disk/store.sqlite
      "$1" -q "$2/small" >small; "$1" --json -o big "$2/big" >line 2>errors
      "$1" -q --offline "$2/small" >again; "$1" -q "$2/big" >twice; "$1" doctor >doctor
      "$1" -q --offline "$2/small" >last
      """
    let run = try await ChildProcess.run(
      "/usr/bin/unshare",
      [
        "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", try BuiltProduct.cachefetch(),
        origin.url,
      ],
      environment: shell.environment, directory: shell.store.folder.path)
    #expect(run.status == 0, "\(run.errorText)")
    for name in ["big", "twice"] { #expect(try shell.store.folder.bytes(of: name) == content, "\(name)") }
    for name in ["small", "again", "last"] {
      #expect(try shell.store.folder.text(of: name) == "small", "\(name)")
    }
    #expect(try shell.store.folder.text(of: "line").contains("\"kept\":false,\"kept_reason\":\"full\""))
    #expect(try shell.store.folder.text(of: "errors").contains("no room left"))
  }

  /// Runs the command as a user to whom the modes apply even where the test's own user is root, and who has no home
  /// folder; or with the store's folder on a file system that cannot be written.
  private func confined(
    _ shell: Shell, _ place: ReadOnly, _ words: String...
  ) async throws -> ChildProcess.Finished {
    let command = [try BuiltProduct.cachefetch()] + words
    let mount = "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && exec \"$@\""
    let arguments =
      place.isMount
      ? ["--user", "--map-root-user", "--mount", "sh", "-c", mount, shell.store.folder.path] + command
      : ["--user", "--map-user=65534", "--map-group=65534"] + command
    return try await ChildProcess.run("/usr/bin/unshare", arguments, environment: shell.environment)
  }
}
