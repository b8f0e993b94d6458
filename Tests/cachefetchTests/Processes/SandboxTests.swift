import PlatformC
import PlatformFoundation
import TestSupport
import Testing
import TestTurns
@testable import cachefetch

@Suite("Command: what it may do with the network", .inTurn) struct SandboxTests {
  private func rules(_ words: [String], _ variables: [String: String] = [:]) throws -> [Sandbox.Rule] {
    SandboxRules.all(try ArgumentParser.parse(words + ["http://a/"])) { variables[$0] }
  }

  @Test func `what options and variables name may be read, where something is written too`() throws {
    let made = try rules(
      ["--store", "/s/store.sqlite", "-o", "/o/file", "--cacert", "/c/ca.pem"],
      ["TMPDIR": "/t", "SSL_CERT_DIR": "/d1:/d2", "SSLKEYLOGFILE": "/k/keys"])
    for path in ["/c/ca.pem", "/d1", "/d2", "/etc", "/usr"] {
      #expect(made.contains(.init(path: path)), "\(path)")
    }
    #expect(Set(made.filter(\.writes).map(\.path)) == ["/dev", "/s", "/o", "/t", "/k"])
  }

  @Test func `the files of a tier may be read, by option or variable`() throws {
    let url =
      "rediss://u@h/0?key-file=/f/key&password-file=/f/word&ca-file=/f/ca&cert-file=/f/c&cert-key-file=/f/k"
    let files = ["/f/key", "/f/word", "/f/ca", "/f/c", "/f/k"]
    for made in [try rules(["--tier", url]), try rules([], ["CACHEFETCH_TIER": url])] {
      for path in files { #expect(made.contains(.init(path: path)), "\(path)") }
    }
    let local = try rules([], ["CACHEFETCH_TIER": "redis+unix:///r/socket?key-file=/f/key"])
    #expect(local.contains(.init(path: "/r/socket")))
    let none = try rules(["--no-tier"], ["CACHEFETCH_TIER": url])
    #expect(!none.contains { $0.path.hasPrefix("/f/") })
  }

  @Test func `what is empty, or no file, is no rule`() throws {
    let empty = try rules(
      ["--store", "/s/store.sqlite", "-o", "-"],
      ["TMPDIR": "", "SQLITE_TMPDIR": "", "SSLKEYLOGFILE": "", "SSL_CERT_DIR": ":"])
    #expect(Set(empty.filter(\.writes).map(\.path)) == ["/dev", "/s", "/tmp", "/var/tmp"])
    let both = try rules(["--store", "/s/store.sqlite"], ["TMPDIR": "/t", "SQLITE_TMPDIR": "/q"])
    #expect(Set(both.filter(\.writes).map(\.path)) == ["/dev", "/s", "/t", "/q"])
  }

  @Test func `of a link its folder is written to, and that where it leads`() throws {
    let (folder, elsewhere) = (try TemporaryFolder(), try TemporaryFolder())
    let target = try elsewhere.write("x", to: "f")
    symlink(target, folder.file("link"))
    let made = try rules(["--store", "/s/store.sqlite", "-o", folder.file("link")], ["TMPDIR": "/t"])
    let real = try #require(ReplacedFile.target(of: target).map(Paths.folder))
    #expect(Set(made.filter(\.writes).map(\.path)) == ["/dev", "/s", "/t", folder.path, real])
  }

  @Test func `home folders are not among what may be read`() throws {
    for rule in try rules(["--store", "/s/store.sqlite"], ["HOME": "/home/me"]) {
      #expect(!rule.path.hasPrefix("/home") && !rule.path.hasPrefix("/root") && rule.path != "/", "\(rule)")
    }
  }

  /// A site whose authority is only found by way of a link to a folder that nobody has named.
  private func linkedSite(in shell: Shell, _ elsewhere: TemporaryFolder) async throws -> SelfSignedSite {
    let site = try await SelfSignedSite(in: shell.store.folder)
    let kept = elsewhere.file("site.pem")
    #expect(
      (try? FileManager.default.moveItem(atPath: site.certificate, toPath: kept)) != nil
        && symlink(kept, site.certificate) == 0)
    return site
  }

  @Test(.enabled(if: Kernel.hasLandlock, "the kernel has no Landlock"))
  func `files that nobody has named cannot be read by the network's part`() async throws {
    var shell = try Shell()
    // What is in /dev may be read.
    let (elsewhere, temporary) = (try TemporaryFolder.outsideOfDevices(), try TemporaryFolder())
    let site = try await linkedSite(in: shell, elsewhere)
    shell.environment["TMPDIR"] = temporary.path
    shell.environment["SSL_CERT_DIR"] = site.folder
    let words = ["--retry", "0", "--connect-timeout", "1h", "--policy", "fresh-only", site.url]
    for (words, status) in [
      (words, Int32(4)), (["--no-sandbox"] + words, 0),
      (["preload", "--retry", "0", "--connect-timeout", "1h", "--parallel", "20", site.url], 3),
    ] {
      let run = try await shell.run(words)
      #expect(run.status == status, "\(words): \(run.errorText)")
    }
  }

  @Test(
    "under a filter that kills who makes Landlock's calls, the command goes without them, and says so",
    .enabled(if: access("/usr/bin/cc", X_OK) == 0, "there is no C compiler"))
  func filtered() async throws {
    var shell = try Shell()
    let origin = try ChangingOrigin()
    try shell.store.folder.write(
      Array(
        """
        #include <linux/filter.h>
        #include <linux/seccomp.h>
        #include <sys/prctl.h>
        __attribute__((constructor)) static void forbid(void) {
          struct sock_filter steps[] = {
              BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
              BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 447, 1, 0),
              BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 444, 1, 0),
              BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
              BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
          };
          struct sock_fprog filter = {.len = 5, .filter = steps};
          prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
          prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
        }
        """.utf8), to: "filter.c")
    let library = shell.file("filter.so")
    let made = try await ChildProcess.run(
      "/usr/bin/cc", ["-shared", "-fPIC", "-o", library, shell.file("filter.c")])
    try #require(made.status == 0, "\(made.errorText)")
    shell.environment["LD_PRELOAD"] = library
    // A sanitizer's own library has to be the first.
    shell.environment["ASAN_OPTIONS"] = "verify_asan_link_order=0"
    for (words, isSaid) in [
      ([], true), (["-q"], false), (["--no-sandbox"], false), (["--offline"], false),
    ] {
      let run = try await shell.run(words + ["--one", origin.url])
      #expect(run.status == 0 && run.outputText == "one", "\(words): \(run.status) \(run.errorText)")
      let lines = run.errorText.split(separator: "\n")
      #expect(lines.count == (isSaid ? 1 : 0), "\(words): \(run.errorText)")
      for part in [
        "landlock_restrict_self", "SystemCallFilter", "SystemCallErrorNumber=EPERM", "--no-sandbox",
      ] {
        #expect(lines.allSatisfy { $0.contains(part) }, "\(run.errorText)")
      }
    }
    // Where nobody is told of a child's end, it is seen all the same.
    let run = try await ChildProcess.run(
      "/bin/sh",
      ["-c", "trap '' CHLD; exec \"$0\" preload -q \"$@\"", try BuiltProduct.cachefetch(), origin.url],
      environment: shell.environment)
    #expect(run.status == 0, "\(run.status) \(run.errorText)")
  }

  @Test func `store, output, authorities and temporary files may lie where they like`() async throws {
    var shell = try Shell()
    let folders = try (0..<3).map { _ in try TemporaryFolder() }
    let site = try await SelfSignedSite(in: folders[0])
    shell.environment["TMPDIR"] = folders[1].path
    let output = folders[2].file("out")
    // A folder for the store that is still to be made.
    let store = folders[2].file("new/store.sqlite")
    for answer in ["site", "site"] {
      let run = try await shell.run(
        "--store", store, "--cacert", site.certificate, "-o", output, "--policy", "fresh-only",
        "--connect-timeout", "1h", site.url)
      #expect(run.status == 0 && run.errors.isEmpty, "\(run.errorText)")
      #expect(try String(contentsOfFile: output, encoding: .utf8) == answer, "\(answer)")
    }
    #expect(
      try await shell.run("--offline", "--store", store, "--cacert", site.certificate, site.url).status == 0)
    // Over a link too, and into a device.
    let link = folders[1].file("link")
    #expect(symlink(output, link) == 0)
    let words = [
      "--cacert", site.certificate, "--connect-timeout", "1h", "--policy", "fresh-only", site.url,
    ]
    #expect(try await shell.run(["-o", link] + words).status == 0)
    #expect(try await shell.run(["-o", "/dev/null"] + words).status == 0)
    #expect(
      try await shell.run(["diff"] + words.filter { !["--policy", "fresh-only"].contains($0) }).status <= 1)
    withExtendedLifetime(folders) {}
  }

  @Test(.enabled(if: access("/usr/bin/cc", X_OK) == 0, "there is no C compiler"))
  func `with credentials the process leaves no core file, and nobody reads its memory`() async throws {
    var shell = try Shell()
    let origin = try ChangingOrigin()
    try shell.store.folder.write(
      Array(
        """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdio.h>
        #include <sys/prctl.h>
        #include <sys/resource.h>
        #include <sys/socket.h>
        int connect(int socket, const struct sockaddr *address, socklen_t length) {
          struct rlimit core;
          getrlimit(RLIMIT_CORE, &core);
          if (address->sa_family == AF_INET)
            fprintf(stderr, "dumpable %d, core %d\\n", prctl(PR_GET_DUMPABLE), core.rlim_cur != 0);
          return ((int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "connect"))(socket, address, length);
        }
        """.utf8), to: "state.c")
    let library = shell.file("state.so")
    let made = try await ChildProcess.run(
      "/usr/bin/cc", ["-shared", "-fPIC", "-o", library, shell.file("state.c"), "-ldl"])
    try #require(made.status == 0, "\(made.errorText)")
    shell.environment["LD_PRELOAD"] = library
    // A sanitizer's own library has to be the first.
    shell.environment["ASAN_OPTIONS"] = "verify_asan_link_order=0"
    func state(_ words: [String]) async throws -> String {
      let run = try await ChildProcess.run(
        "/bin/sh",
        ["-c", "ulimit -S -c $(ulimit -H -c); exec \"$0\" \"$@\"", try BuiltProduct.cachefetch()] + words,
        environment: shell.environment)
      #expect(run.status == 0 && run.outputText == "one", "\(words) \(run.errorText)")
      return run.errorText
    }
    let plain = try await state(["--policy", "fresh-only", origin.url])
    #expect(plain.hasPrefix("dumpable 1"), "\(plain)")
    let secrets = [
      ["-u", "me:secret"], ["-H", "Authorization: Bearer secret"], ["-H", "X-Api-Key: secret"],
      ["--read", "-d", "secret"],
    ]
    for words in secrets {
      let said = try await state(["--policy", "fresh-only"] + words + [origin.url])
      #expect(said == "dumpable 0, core 0\n", "\(words): \(said)")
    }
  }
}
