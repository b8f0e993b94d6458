/// A comma-separated list.
///
/// Appends each text instead of joining them: `joined` makes the runtime look up more types, which would slow the
/// start.
struct CommaList {
  private(set) var text = ""

  mutating func add(_ item: String) {
    if !text.isEmpty { text += ", " }
    text += item
  }
}

/// A table of values with small integer keys.
///
/// An array with gaps, not a dictionary: for the first dictionary whose keys are not strings the runtime searches every
/// conformance of the program, which would slow the start.
struct PlaceTable<Value> {
  private var values: [Value?]

  /// - Parameter count: The number of keys, from 0 on.
  init(count: Int) { values = Array(repeating: nil, count: count) }

  subscript(place: Int) -> Value? {
    get { values[place] }
    set { values[place] = newValue }
  }

  /// The values, by key.
  var all: [Value] {
    var all: [Value] = []
    for case let value? in values { all.append(value) }
    return all
  }
}
