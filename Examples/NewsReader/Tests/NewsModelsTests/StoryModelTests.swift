import DataService
import DataServiceTesting
import NewsModels
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite("A story of a news reader", .timeLimit(.minutes(1))) @MainActor struct StoryModelTests {
  private static let thaw = Story(title: "Ice gone", text: "It thawed.")

  private func reader() async throws -> (reader: Reader, list: ListModel, headline: Headline) {
    let reader = try Reader()
    try await reader.signIn("ada")
    try reader.publish("Ice gone")
    reader.answer("stories/1", with: try .json(Self.thaw))
    let list = try #require(reader.model.list)
    await list.appear()
    return (reader, list, try #require(list.headlines.first))
  }

  @Test func `what was fetched at touch-down is shown at the tap, without another request`() async throws {
    let (reader, list, headline) = try await reader()
    list.touchDown(headline)
    await until { reader.requests(for: "stories/1").count == 1 }
    list.open(headline)
    await list.story?.appear()
    #expect(list.story?.story == Self.thaw)
    #expect(reader.requests(for: "stories/1").map { $0.fields["Sec-Purpose"] } == ["prefetch"])
    await reader.test.close()
  }

  @Test func `a tap without a touch-down loads the story`() async throws {
    let (reader, list, headline) = try await reader()
    list.open(headline)
    await list.story?.appear()
    #expect(list.story?.story == Self.thaw)
    #expect(reader.requests(for: "stories/1").map { $0.fields["Sec-Purpose"] } == [nil])
    await reader.test.close()
  }

  @Test func `a touch that becomes a scroll shows nothing`() async throws {
    let (reader, list, headline) = try await reader()
    reader.answer("stories/1", with: .never)
    list.touchDown(headline)
    await until { reader.requests(for: "stories/1").count == 1 }
    list.touchCancelled()
    #expect(list.story == nil)
    reader.answer("stories/1", with: try .json(Self.thaw))
    list.open(headline)
    await list.story?.appear()
    #expect(list.story?.story == Self.thaw)
    await reader.test.close()
  }

  @Test func `a story once read is read again offline`() async throws {
    let (reader, list, headline) = try await reader()
    list.open(headline)
    await list.story?.appear()
    list.close()
    reader.answer("stories/1", with: .failure(.offline, "no network"))
    list.open(headline)
    let story = try #require(list.story)
    try await reader.patiently { await story.appear() }
    #expect(story.story == Self.thaw && story.error == "no network")
    await reader.test.close()
  }

  @Test func `where the early request was refused, the story is asked for once more`() async throws {
    let again = DataService.Deliveries([.fresh(.init(Self.thaw, source: .fresh), .new)])
    let refused = DataServiceError.status(of: .init(Data(), source: .fresh, status: 401))
    let story = StoryModel(
      Headline(id: 1, title: "Ice gone"), early: .init([.failure(refused, lastKnown: nil)])
    ) { again }
    await story.appear()
    #expect(story.story == Self.thaw && story.error == nil)
  }
}
