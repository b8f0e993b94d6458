import DataService
import PlatformFoundation
import Testing
import TestTurns

@testable import Launch

@Suite("Flow machine: what the root shows", .inTurn) struct FlowMachineTests {
  typealias Event = FlowMachine.Event

  static let progress = PreloadProgress(
    fraction: 0.5, receivedBytes: 1, expectedBytes: 2, currentStep: "a", stepCount: 1, stored: 0, fresh: 0,
    failed: 0)
  static let prompt = FailurePrompt(missing: [("a", "refused")], isLate: false, canContinue: true)

  static func outcome(_ verdict: PreloadOutcome.Verdict, run: UInt64 = 1) -> PreloadOutcome {
    PreloadOutcome(verdict: verdict, steps: [], elapsed: .zero, run: run, responses: [:])
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let events: [Event]
    let root: LaunchRoot
  }

  static let alice = Event.session(.signedIn(account: "alice"))
  static let bob = Event.session(.signedIn(account: "bob"))
  static let ready = outcome(.ready)

  static let cases = [
    Case(testDescription: "the launch screen first", events: [.session(.launching)], root: .splash(nil)),
    Case(
      testDescription: "nobody is signed in", events: [.session(.signedOut(.noCredential))],
      root: .login(.signedOut(.noCredential))),
    Case(testDescription: "somebody is", events: [alice], root: .splash(nil)),
    Case(testDescription: "no accounts at all", events: [.anonymous], root: .splash(nil)),
    Case(testDescription: "progress", events: [alice, .progress(run: 1, progress)], root: .splash(progress)),
    Case(
      testDescription: "ready", events: [alice, .outcome(run: 1, ready, blocked: nil)], root: .main(ready)),
    Case(
      testDescription: "stored has to do", events: [alice, .outcome(run: 1, outcome(.stored), blocked: nil)],
      root: .main(outcome(.stored))),
    Case(
      testDescription: "an update is required", events: [alice, .outcome(run: 1, ready, blocked: "update")],
      root: .blocked("update")),
    Case(testDescription: "a prompt", events: [alice, .prompt(run: 1, prompt)], root: .failed(prompt)),
    Case(
      testDescription: "a prompt answered", events: [alice, .prompt(run: 1, prompt), .answered(.retry)],
      root: .splash(nil)),
    Case(
      testDescription: "quitting leaves what is shown",
      events: [
        alice, .prompt(run: 1, prompt), .answered(.quit), .outcome(run: 1, outcome(.quit), blocked: nil),
      ],
      root: .failed(prompt)),
    Case(
      testDescription: "expired",
      events: [alice, .outcome(run: 1, ready, blocked: nil), .session(.expired(account: "alice"))],
      root: .login(.expired(account: "alice"))),
    Case(
      testDescription: "signing out hides the account's data at once",
      events: [alice, .outcome(run: 1, ready, blocked: nil), .session(.signingOut(account: "alice"))],
      root: .splash(nil)),
    Case(
      testDescription: "another account goes through the splash",
      events: [alice, .outcome(run: 1, ready, blocked: nil), bob], root: .splash(nil)),
    Case(
      testDescription: "what a replaced preload still says is not shown",
      events: [alice, bob, .outcome(run: 1, ready, blocked: nil), .progress(run: 1, progress)],
      root: .splash(nil)),
    Case(
      testDescription: "the account that is shown already stays shown",
      events: [alice, .outcome(run: 1, ready, blocked: nil), alice], root: .main(ready)),
    Case(
      testDescription: "blocked, whatever the session does", events: [.blocked("update"), alice],
      root: .blocked("update")),
    Case(
      testDescription: "unblocked, from the beginning",
      events: [alice, .outcome(run: 1, ready, blocked: "update"), .unblocked], root: .splash(nil)),
    Case(
      testDescription: "a choice that the prompt does not offer",
      events: [alice, .outcome(run: 1, outcome(.incomplete), blocked: nil), .answered(.continueWithStored)],
      root: .failed(FailurePrompt(missing: [], isLate: false, canContinue: false))),
    Case(testDescription: "a late answer", events: [alice, .answered(.retry)], root: .splash(nil)),
  ]

  @Test("the root follows from what has happened", arguments: cases)
  func roots(_ row: Case) {
    var machine = FlowMachine()
    for event in row.events { _ = machine.handle(event) }
    #expect(machine.root == row.root)
  }

  @Test func `the splash shows over the main root until it has faded, and over no other`() {
    var machine = FlowMachine()
    #expect(machine.isSplashShowing)
    _ = machine.handle(Self.alice)
    _ = machine.handle(.splashFaded)
    #expect(machine.isSplashShowing)
    _ = machine.handle(.outcome(run: 1, Self.ready, blocked: nil))
    #expect(machine.isSplashShowing)
    _ = machine.handle(.splashFaded)
    #expect(!machine.isSplashShowing)
    _ = machine.handle(Self.bob)
    #expect(machine.isSplashShowing)
    _ = machine.handle(.session(.signedOut(.requested)))
    #expect(!machine.isSplashShowing)
  }

  @Test func `preloads are started, cancelled and answered as the session and the person want`() {
    var machine = FlowMachine()
    #expect(machine.handle(.session(.launching)) == [])
    #expect(machine.handle(Self.alice) == [.startPreload(run: 1, account: "alice")])
    #expect(machine.handle(Self.alice) == [])
    #expect(machine.handle(Self.bob) == [.cancelPreload, .startPreload(run: 2, account: "bob")])
    #expect(machine.handle(.prompt(run: 2, Self.prompt)) == [])
    #expect(machine.handle(.answered(.continueWithStored)) == [.answerPreload(.continueWithStored)])
    #expect(machine.handle(.answered(.retry)) == [])
    _ = machine.handle(.outcome(run: 2, Self.outcome(.incomplete), blocked: nil))
    #expect(machine.handle(.answered(.retry)) == [.startPreload(run: 3, account: "bob")])
    #expect(machine.handle(.blocked("update")) == [.cancelPreload])
    #expect(machine.handle(.unblocked) == [.startPreload(run: 4, account: "bob")])
  }

  @Test func `a preload that goes on into the store after its outcome ends with the account`() {
    var machine = FlowMachine()
    _ = machine.handle(Self.alice)
    _ = machine.handle(.outcome(run: 1, Self.ready, blocked: nil))
    #expect(machine.handle(Self.bob) == [.cancelPreload, .startPreload(run: 2, account: "bob")])
    #expect(machine.handle(.session(.signedOut(.requested))) == [.cancelPreload])
    #expect(machine.handle(Self.alice) == [.startPreload(run: 3, account: "alice")])
  }

  @Test func `a retry right after the answer that quits begins a preload of its own`() {
    var machine = FlowMachine()
    _ = machine.handle(Self.alice)
    _ = machine.handle(.prompt(run: 1, Self.prompt))
    #expect(machine.handle(.answered(.quit)) == [.answerPreload(.quit)])
    #expect(machine.handle(.answered(.retry)) == [.answerPreload(.retry)])
    let effects = machine.handle(.outcome(run: 1, Self.outcome(.quit), blocked: nil))
    #expect(effects == [.startPreload(run: 2, account: "alice")])
  }

  @Test func `whatever is chosen of a prompt whose run has ended, the launch screen leads on`() {
    var machine = FlowMachine()
    _ = machine.handle(Self.alice)
    _ = machine.handle(.prompt(run: 1, Self.prompt))
    _ = machine.handle(.answered(.quit))
    _ = machine.handle(.outcome(run: 1, Self.outcome(.quit), blocked: nil))
    #expect(machine.root == .failed(Self.prompt))
    #expect(machine.handle(.answered(.quit)) == [])
    #expect(machine.handle(.answered(.continueWithStored)) == [.startPreload(run: 2, account: "alice")])
    #expect(machine.root == .splash(nil))
  }
}
