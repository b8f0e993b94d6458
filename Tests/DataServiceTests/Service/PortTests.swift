import Dispatch
import Guards
import PlatformFoundation
import Synchronization
import TestSupport
import TestTurns
import Testing

@testable import DataService

/// What a load's port adds to the load: where its deliveries go, and who waits for what.
@Suite("A load's port", .inTurn) struct PortTests {
  private let gone = DataService.Delivery<Data>.failure(DataServiceError(.closed, "closed"), lastKnown: nil)

  /// A port on a queue that stands still, and what its callbacks have said.
  private func standing() -> (Port<Data>, DispatchQueue, Shared<[String]>) {
    let queue = DispatchQueue(label: "callbacks")
    let said = Shared<[String]>([])
    queue.suspend()
    let port = Port<Data>(
      .init(
        queue: queue, deliver: { _ in said.value.withLock { $0.append("delivery") } },
        ended: { said.value.withLock { $0.append("end") } }))
    return (port, queue, said)
  }

  @Test func `a load is over before its callbacks have run, and finished after them`() async {
    let (port, queue, said) = standing()
    port.deliver(gone)
    port.end()
    port.finish()
    await port.over()
    #expect(said.all == [])
    queue.resume()
    await port.finished()
    #expect(said.all == ["delivery", "end"])
  }

  @Test func `law 2: a load that is ended after its last delivery delivers nothing more`() async {
    let told = Shared<[String]>([])
    let port = Port<Data>(
      .init(
        queue: nil, deliver: { delivery in told.value.withLock { $0.append(delivery.outline) } },
        ended: { told.value.withLock { $0.append("end") } }))
    let response = DataService.Response(Data("body".utf8), source: .fresh)
    port.deliver(.stored(response))
    port.deliver(.fresh(response, .new))
    port.end(with: .signedOut)
    port.finish()
    await port.finished()
    #expect(told.all == ["stored(body)", "fresh(body, new)", "end"])
  }

  @Test func `law 11: what waits on the queue of the callbacks hears of a close there`() async {
    let (port, queue, said) = standing()
    let report = port.reporting { _ in said.value.withLock { $0.append("progress") } }
    port.deliver(gone)
    report(DataService.TransferProgress(received: 1, expected: 2))
    port.close()
    port.finish()
    await port.finished()
    queue.resume()
    queue.sync {}
    #expect(said.all == [])
  }

  @Test func `law 11: a reader that is cancelled while its load begins cancels it, and gets the end`() async {
    let port = Port<Data>()
    let load = Begun(port)
    let task = Task {
      await port.next { port in
        withUnsafeCurrentTask { $0?.cancel() }
        #expect(port.begin(load))
      }
    }
    #expect(await task.value == nil)
    #expect(load.isCancelled.withLock { $0 })
    port.deliver(gone)
    #expect(await port.next { _ in Issue.record("it began again") } == nil)
  }

  /// A value that closures share.
  private final class Shared<Value: Sendable>: Sendable {
    let value: Mutex<Value>
    init(_ value: Value) { self.value = Mutex(value) }
    var all: Value { value.withLock { $0 } }
  }

  private final class Begun: AnyLoad {
    let isCancelled = Mutex(false)
    private let port: Port<Data>
    init(_ port: Port<Data>) { self.port = port }
    var request: PreparedRequest? { nil }
    func cancel() {
      isCancelled.withLock { $0 = true }
      port.finish()
    }
    func finished() async {}
    func stop(with error: DataServiceError) {}
  }
}
