import DataService
import Testing
import TestTurns

@testable import Launch

@Suite("A run's events on their way to a slow reader", .inTurn) struct EventQueueTests {
  private func progress(_ bytes: Int64) -> PreloadEvent {
    .progress(
      PreloadProgress(
        fraction: nil, receivedBytes: bytes, expectedBytes: nil, currentStep: nil, stepCount: 1, stored: 0,
        fresh: 0, failed: 0))
  }

  private func step(_ name: String) -> PreloadEvent {
    .step(
      PreloadOutcome.Step(
        name: name, state: .fresh, isCritical: true, change: nil, kept: nil, error: nil, elapsed: nil,
        bytes: nil))
  }

  private let prompt = PreloadEvent.prompt(FailurePrompt(missing: [], isLate: false, canContinue: false))
  private let outcome = PreloadEvent.outcome(
    PreloadOutcome(verdict: .ready, steps: [], elapsed: .zero, run: 1, responses: [:]))

  private func text(_ event: PreloadEvent) -> String {
    switch event {
    case .progress(let progress): "\(progress.receivedBytes)"
    case .step(let step): step.name
    case .prompt: "prompt"
    case .outcome: "outcome"
    }
  }

  private func next(_ queue: EventQueue) async throws -> String { text(try #require(await queue.next())) }

  /// All that waits; the outcome must be the last of it.
  private func rest(_ queue: EventQueue) async -> [String] {
    var texts: [String] = []
    while let event = await queue.next() { texts.append(text(event)) }
    return texts
  }

  @Test func `of several in a row the newest progress is kept, and none overtakes what came before it`() async
  {
    let queue = EventQueue()
    for event in [
      progress(1), progress(2), step("a"), progress(3), progress(4), progress(5), step("b"), prompt,
      progress(6), step("c"), step("d"), progress(7), progress(8), outcome,
    ] {
      queue.send(event)
    }
    #expect(await rest(queue) == ["2", "a", "5", "b", "prompt", "6", "c", "d", "8", "outcome"])
  }

  @Test func `the newest progress is kept where some has been taken meanwhile, too`() async throws {
    let queue = EventQueue()
    for event in [progress(1), step("a"), progress(2)] { queue.send(event) }
    try #require(try await next(queue) == "1")
    // The last of what waits gives way still.
    queue.send(progress(3))
    queue.send(progress(4))
    try #require(try await next(queue) == "a")
    queue.send(step("b"))
    queue.send(progress(5))
    queue.send(progress(6))
    // There is something between it and the next one now.
    try #require(try await next(queue) == "4")
    queue.send(step("c"))
    try #require(try await next(queue) == "b")
    queue.send(progress(7))
    for text in ["6", "c", "7"] { try #require(try await next(queue) == text) }
    queue.send(outcome)
    queue.send(progress(8))
    queue.send(step("late"))
    #expect(await rest(queue) == ["outcome"])
  }

  @Test func `who waits is given the next event, and nothing once it is cancelled`() async {
    let queue = EventQueue()
    async let first = queue.next()
    queue.send(step("a"))
    #expect(await first.map(text) == "a")
    let waiting = Task { await queue.next() }
    waiting.cancel()
    #expect(await waiting.value.map(text) == nil)
    queue.send(step("b"))
    #expect(await queue.next().map(text) == "b", "not lost on who was cancelled")
  }
}

extension EventQueue {
  func send(_ event: PreloadEvent) { add(event)?.resume(returning: event) }
}
