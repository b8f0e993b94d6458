extension Verb {
  /// What help and the manual say about a verb besides its options: headings, paragraphs, and preformatted text.
  enum Note {
    case heading(String)
    case paragraph(String)
    case literal([String])
  }

  /// The notes on a verb; none for most.
  var notes: [Note] {
    switch self {
    case .preload: Self.preloadNotes
    case .list: Self.listNotes
    case .rm: Self.removalNotes + [.paragraph(Self.asking)]
    case .signOut: [.heading("what sign-out asks"), .paragraph(Self.asking)]
    case .limits: Self.limitsNotes
    default: []
    }
  }

  private static let listNotes: [Note] = [
    .heading("columns of list"),
    .paragraph(
      "When the entry was received, its size, its state (and its status where that is not 200), and what it is stored "
        + "for: the URL or key:KEY, the [account], the options that are part of the key, the request headers that Vary "
        + "names in parentheses, #tags. A terminal shows a header and a total too."),
  ]

  private static let removalNotes: [Note] = [
    .heading("what rm removes"),
    .paragraph(
      "A URL means its entries of every account and of every option that is part of the key; the options "
        + "above that list shows too (--account, -k, --resolve and others) narrow that. With --exact it is the entry alone that show "
        + "prints with the same options. key:KEY means the entry stored with --key KEY."),
  ]

  private static let asking =
    "One entry is removed without a question. More than one are removed after a yes, from the person at the terminal "
    + "or from --yes; without either it ends with 64."

  private static let limitsNotes: [Note] = [
    .heading("limits of the store"),
    .paragraph(
      "Without options the limits are shown, with what is used of them. A limit that is set is kept in the store and "
        + "holds for every program that uses it; what is over it is removed at once, least recently used first. Pinned "
        + "entries stay."),
  ]

  private static let preloadNotes: [Note] = [
    .heading("lists and plans"),
    .paragraph(
      "One operand may be a file: a list, or a plan, told apart by content; - is standard input. A list has one whole "
        + "URL per line; empty lines and lines that begin with # are skipped."),
    .paragraph(
      "A plan gives each request headers, an account and tags of its own:"),
    .literal([
      #"{"deadline_ms": 3000, "max_age_ms": 60000, "parallel": 6, "steps": ["#,
      #"  {"url": "https://news.example.com/feed", "name": "feed", "account": "alice","#,
      #"   "fields": {"Accept": "application/json"}, "tags": ["launch"]},"#,
      #"  {"url": "https://news.example.com/advert"}]}"#,
    ]),
    .paragraph(
      "Only steps and the url of each must be there. deadline_ms, max_age_ms and parallel are what --deadline, "
        + "--max-age and --parallel say, which win over them; what a step leaves open is as the options say. "
        + "readiness, weight and critical are understood too; apps use them, preload waits for every step."),
  ]
}
