import NewsModels

/// What the models look like as text.
@MainActor enum TextForm {
  static func of(_ model: ReaderModel) -> String {
    let notice = model.notice.map { plain($0) + "\n" } ?? ""
    switch model.screen {
    case .waiting: return notice
    case .login: return notice + "Name: "
    case .list(let list): return notice + (list.story.map { of($0) } ?? of(list))
    }
  }

  private static func of(_ list: ListModel) -> String {
    let state = [list.isStored ? "stored" : nil, list.isLoading ? "looking for newer" : nil]
      .compactMap { $0 }.joined(separator: ", ")
    let lines = list.headlines.map { "  \($0.id)  \(plain($0.title))\n" }.joined()
    let error = list.error.map { plain($0) + "\n" } ?? ""
    return "News for \(plain(list.account))\(state.isEmpty ? "" : " (\(state))")\n" + lines + error
      + "[number] choose  [Return] open it  [r]efresh  [o] sign out  [q]uit\n"
  }

  private static func of(_ story: StoryModel) -> String {
    let text = story.story.map { plain($0.text) } ?? "…"
    let error = story.error.map { plain($0) + "\n" } ?? ""
    return "\(plain(story.headline.title))\n  \(text)\n" + error + "[b]ack  [q]uit\n"
  }

  /// What an origin sends does not act on the terminal.
  private static func plain(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.filter { $0.properties.generalCategory != .control }))
  }
}
