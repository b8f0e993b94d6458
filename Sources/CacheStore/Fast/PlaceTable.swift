/// Values under small numbers.
///
/// A list with gaps, not a dictionary as in ``PlainPlaceTable``: for the first dictionary with keys other than text the
/// runtime searches every conformance of the program, which a start would pay for.
struct PlaceTable<Value> {
  private var values: [Value?]

  /// - Parameter count: How many numbers there are, from 0 on.
  init(count: Int) { values = Array(repeating: nil, count: count) }

  subscript(place: Int) -> Value? {
    get { values[place] }
    set { values[place] = newValue }
  }

  /// Those there are, by their numbers.
  var all: [Value] {
    var all: [Value] = []
    for case let value? in values { all.append(value) }
    return all
  }
}

/// The plain form of ``PlaceTable``.
struct PlainPlaceTable<Value> {
  private var values: [Int: Value] = [:]

  subscript(place: Int) -> Value? {
    get { values[place] }
    set { values[place] = newValue }
  }

  /// Those there are, by their numbers.
  var all: [Value] { values.sorted { $0.key < $1.key }.map(\.value) }
}
