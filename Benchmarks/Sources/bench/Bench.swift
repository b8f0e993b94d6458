import CacheStore
import DataService
import Dispatch

import FoundationEssentials

import Glibc

/// The in-process scenes. Each prints the time of every operation in nanoseconds, one a line, as the C contenders do.
@main struct Bench {
  static let usage = """
    usage: bench fill STORE ROWS BYTES                store ROWS answers of BYTES bytes, from no network
           bench look|sequence|callback|block|oneshot|miss STORE COUNT ROWS
           bench refresh|refresh-callback STORE COUNT URL
           bench overwrite STORE COUNT ROWS BYTES     the service's whole path, the transport replaced by a constant
           bench hop STORE COUNT                      what Dispatch alone takes to call back on a queue
           bench trim STORE COUNT ROWS BYTES          a new row where the store has as many as it may
           bench open STORE COUNT                     a service of its own for each stored look
           bench mixed STORE COUNT ROWS BYTES         nine stored looks, one overwrite, and so on
           bench deadline STORE COUNT URL MS          how late a preload is whose step never comes
           bench anticipation STORE COUNT URL MS      from wanting to having what was begun so much earlier
           bench main-actor STORE COUNT URL           the longest piece of a launch on the main actor, processor time
           bench follow STORE 1 URL                   when it had an answer that others wait for too
           bench observe STORE COUNT URL              when it saw each change of a row
           bench commit STORE COUNT URL MS            when it committed each of so many changes, so far apart
           bench share STORE ROWS BYTES TIER          put ROWS answers of BYTES bytes into a fleet's tier
           bench from-tier STORE COUNT BYTES TIER     what only the tier has, to the stored delivery; ROWS is COUNT and one
           bench ask STORE COUNT ROWS BYTES [TIER]    from the beginning of an exchange until it comes to its origin
           bench wait STORE COUNT [TIER]              the same for two loads each on COUNT stores of their own
    The URL of a tier behind any other makes them have it.

    """

  /// The main thread sleeps, but for the scene that is about it: at the end of an asynchronous `main` libdispatch would
  /// wait for signals with a mask that is read-only data, and valgrind, which counts our instructions, writes to it.
  static func main() {
    let arguments = Array(CommandLine.arguments.dropFirst())
    let never = DispatchSemaphore(value: 0)
    Task.detached {
      await run(arguments)
      exit(0)
    }
    if arguments.first == "main-actor" { dispatchMain() }
    never.wait()
  }

  private static func run(_ arguments: [String]) async {
    guard arguments.count >= 3, let count = Int(arguments[2]) else {
      print(usage, terminator: "")
      exit(64)
    }
    let numbers = arguments.dropFirst(3).compactMap { Int($0) }
    let rows = numbers.first ?? 1
    let bytes = numbers.dropFirst().first ?? rows
    let follow = FollowWork(store: arguments[1], url: arguments.dropFirst(3).first ?? "")
    let launch = LaunchWork(store: arguments[1], url: arguments.dropFirst(3).first ?? "")
    let tier = arguments.dropFirst(3).first { $0.hasPrefix("redis") }
    let bench = Workload(store: arguments[1], rows: rows, bytes: bytes, tier: tier)
    switch arguments[0] {
    case "fill": await bench.fill(rows: count, bytes: rows)
    case "look": bench.look(count)
    case "miss": bench.miss(count)
    case "open": await bench.open(count)
    case "sequence": await bench.sequence(count)
    case "callback": bench.callback(count)
    case "block": bench.block(count)
    case "hop": bench.hop(count)
    case "trim": await bench.trim(count)
    case "oneshot": await bench.oneShot(count)
    case "overwrite": await bench.overwrite(count)
    case "mixed": await bench.mixed(count)
    case "refresh": await bench.refresh(count, url: arguments[3], byCallback: false)
    case "refresh-callback": await bench.refresh(count, url: arguments[3], byCallback: true)
    case "deadline": await launch.deadline(count, .milliseconds(numbers.last ?? 300))
    case "anticipation": await launch.anticipation(count, lead: .milliseconds(numbers.last ?? 0))
    case "main-actor":
      await MainActorWork(store: arguments[1], url: arguments.dropFirst(3).first ?? "").launches(count)
    case "follow": await follow.follow()
    case "observe": await follow.observe(count)
    case "commit": await follow.commit(count, every: .milliseconds(numbers.last ?? 100))
    case "share": await bench.share(count)
    case "from-tier": await bench.fromTier(count)
    case "ask": await bench.ask(count)
    case "wait": await bench.wait(count)
    default:
      print(usage, terminator: "")
      exit(64)
    }
  }
}
