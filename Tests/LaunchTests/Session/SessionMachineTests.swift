import Testing
import TestTurns

@testable import Launch

@Suite("Session machine: phases, epochs and generations", .inTurn) struct SessionMachineTests {
  typealias Event = SessionMachine.Event

  static let alice = Credential(account: "alice", token: "a1")
  static let renewed = Credential(account: "alice", token: "a2")
  static let again = Credential(account: "alice", token: "a3")
  static let bob = Credential(account: "bob", token: "b1")

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var canRenew = true
    let events: [Event]
    let phase: SessionPhase
  }

  static let cases = [
    Case(testDescription: "nothing read yet", events: [], phase: .launching),
    Case(testDescription: "nobody", events: [.read(nil)], phase: .signedOut(.noCredential)),
    Case(
      testDescription: "unreadable", events: [.unreadable("locked")], phase: .signedOut(.unreadable("locked"))
    ),
    Case(testDescription: "somebody", events: [.read(alice)], phase: .signedIn(account: "alice")),
    Case(
      testDescription: "the store is asked once", events: [.read(nil), .read(alice)],
      phase: .signedOut(.noCredential)),
    Case(
      testDescription: "a refusal with no way to renew", canRenew: false,
      events: [.read(alice), .rejected(tokenNumber: 1)], phase: .expired(account: "alice")),
    Case(
      testDescription: "a refusal under renewal", events: [.read(alice), .rejected(tokenNumber: 1)],
      phase: .signedIn(account: "alice")),
    Case(
      testDescription: "a refusal of an older token says nothing", canRenew: false,
      events: [.read(alice), .signedIn(renewed), .rejected(tokenNumber: 1)],
      phase: .signedIn(account: "alice")),
    Case(
      testDescription: "renewed",
      events: [.read(alice), .rejected(tokenNumber: 1), .renewed(1, renewed)],
      phase: .signedIn(account: "alice")),
    Case(
      testDescription: "a renewal nobody asked for", events: [.read(nil), .renewed(1, alice)],
      phase: .signedOut(.noCredential)),
    Case(
      testDescription: "renewed as another account",
      events: [.read(alice), .rejected(tokenNumber: 1), .renewed(1, bob)],
      phase: .expired(account: "alice")),
    Case(
      testDescription: "not renewed, for good",
      events: [.read(alice), .rejected(tokenNumber: 1), .notRenewed(1, isTransient: false)],
      phase: .expired(account: "alice")),
    Case(
      testDescription: "not renewed, for want of a network",
      events: [.read(alice), .rejected(tokenNumber: 1), .notRenewed(1, isTransient: true)],
      phase: .signedIn(account: "alice")),
    Case(
      testDescription: "the renewed token is refused too",
      events: [
        .read(alice), .rejected(tokenNumber: 1), .renewed(1, renewed), .rejectedAgain(tokenNumber: 2),
      ], phase: .expired(account: "alice")),
    Case(
      testDescription: "signing out", events: [.read(alice), .signOutBegan],
      phase: .signingOut(account: "alice")),
    Case(
      testDescription: "a late renewal does not overtake the sign-out",
      events: [.read(alice), .rejected(tokenNumber: 1), .signOutBegan, .renewed(1, renewed)],
      phase: .signingOut(account: "alice")),
    Case(
      testDescription: "nor does a late refusal", canRenew: false,
      events: [.read(alice), .signOutBegan, .rejected(tokenNumber: 1)], phase: .signingOut(account: "alice")),
    Case(
      testDescription: "nor does a sign-in before its end",
      events: [.read(alice), .signOutBegan, .signedIn(bob)],
      phase: .signingOut(account: "alice")),
    Case(
      testDescription: "signed out", events: [.read(alice), .signOutBegan, .signOutEnded],
      phase: .signedOut(.requested)),
    Case(
      testDescription: "an expired account signs out",
      events: [
        .read(alice), .rejected(tokenNumber: 1), .notRenewed(1, isTransient: false), .signOutBegan,
      ],
      phase: .signingOut(account: "alice")),
    Case(
      testDescription: "nobody to sign out", events: [.read(nil), .signOutBegan],
      phase: .signedOut(.noCredential)),
    Case(
      testDescription: "an expired account signs in again",
      events: [
        .read(alice), .rejected(tokenNumber: 1), .notRenewed(1, isTransient: false),
        .signedIn(renewed),
      ], phase: .signedIn(account: "alice")),
    Case(
      testDescription: "another account takes over", events: [.read(alice), .signedIn(bob)],
      phase: .signedIn(account: "bob")),
  ]

  @Test("the phase follows from what has happened", arguments: cases)
  func phases(_ row: Case) {
    var machine = SessionMachine(canRenew: row.canRenew)
    for event in row.events { _ = machine.handle(event) }
    #expect(machine.phase == row.phase)
  }

  @Test func `one renewal serves all refusals of a token`() {
    var machine = SessionMachine(canRenew: true)
    _ = machine.handle(.read(Self.alice))
    let effects = (0..<20).flatMap { _ in machine.handle(.rejected(tokenNumber: 1)) }
    #expect(effects == [.renew(Self.alice, 1)])
  }

  @Test(
    "a late result of a renewal is taken unless a later credential has come",
    arguments: [
      ([.renewed(1, renewed)], "a2"), ([.rejected(tokenNumber: 1), .renewed(1, renewed)], "a2"),
      ([.rejected(tokenNumber: 1), .renewed(2, again), .renewed(1, renewed)], "a3"),
      ([.rejected(tokenNumber: 1), .renewed(1, renewed), .renewed(2, again)], "a3"),
      ([.rejected(tokenNumber: 1), .notRenewed(1, isTransient: false), .renewed(2, again)], "a3"),
      ([.rejected(tokenNumber: 1), .renewed(1, renewed), .notRenewed(2, isTransient: false)], "a2"),
      ([.signedIn(again), .renewed(1, renewed)], "a3"),
      ([.signOutBegan, .signOutEnded, .signedIn(again), .renewed(1, renewed)], "a3"),
    ] as [([Event], String)])
  func lateResults(events: [Event], token: String) {
    var machine = SessionMachine(canRenew: true)
    // The first renewal has taken too long.
    let begin: [Event] = [.read(Self.alice), .rejected(tokenNumber: 1), .notRenewed(1, isTransient: true)]
    for event in begin + events { _ = machine.handle(event) }
    #expect(machine.credential?.token == token)
    #expect(machine.phase == .signedIn(account: "alice"))
  }

  @Test func `an expired session renews nothing`() {
    var machine = SessionMachine(canRenew: true)
    for event: Event in [.read(Self.alice), .rejected(tokenNumber: 1), .rejectedAgain(tokenNumber: 1)] {
      _ = machine.handle(event)
    }
    #expect(machine.phase == .expired(account: "alice") && !machine.isRenewing)
  }

  @Test func `the epoch changes with the account, the token number with every token`() {
    var machine = SessionMachine(canRenew: true)
    var seen: [[UInt64]] = []
    for event: Event in [
      .read(Self.alice), .rejected(tokenNumber: 1), .renewed(1, Self.renewed), .signedIn(Self.bob),
      .signOutBegan, .signOutEnded, .signedIn(Self.bob),
    ] {
      _ = machine.handle(event)
      seen.append([machine.epoch, machine.tokenNumber])
    }
    #expect(seen == [[1, 1], [1, 1], [1, 2], [2, 3], [3, 4], [3, 4], [4, 5]])
  }

  @Test func `a credential shows nothing secret when it is printed`() {
    let credential = Credential(account: "alice", token: "hunter2", refreshToken: "hunter3")
    var dumped = ""
    dump(credential, to: &dumped)
    for text in ["\(credential)", String(reflecting: credential), dumped] {
      #expect(text.contains("alice") && !text.contains("hunter"), "\(text)")
    }
  }
}
