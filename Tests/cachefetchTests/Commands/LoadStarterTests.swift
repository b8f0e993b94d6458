import DataService
import TestTurns
import Testing

@testable import cachefetch

@Suite("The service as the command uses it", .inTurn) struct LoadStarterTests {
  @Test(
    "A wait that a server asks for is told where it is long",
    arguments: [
      (DataService.Event.Kind.retrying(after: .seconds(20), because: .status, status: 503), true),
      (.retrying(after: .seconds(5), because: .status, status: 429), true),
      (.retrying(after: .milliseconds(4_900), because: .status, status: 503), false),
      (.retrying(after: .seconds(5), because: .offline, status: nil), false), (.began, false),
    ])
  func waiting(kind: DataService.Event.Kind, isTold: Bool) {
    let event = DataService.Event(
      exchange: 1, method: .get, url: "http://a.test/", elapsed: .zero, kind: kind)
    #expect((event.longWait != nil) == isTold)
    if case .retrying(.seconds(20), _, _) = kind {
      #expect(
        event.longWait
          == "http://a.test/: answered 503 and asks to wait (Retry-After): asking again in 20.0 s")
    }
  }
}
