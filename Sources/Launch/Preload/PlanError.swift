/// Why a plan or a list of URLs could not be read.
public struct PlanError: Error, Hashable, CustomStringConvertible {
  /// The line that is wrong, counted from 1, where it is known.
  public let line: Int?
  /// What is wrong with it.
  public let message: String

  /// An error of a caller's own reading.
  public init(_ message: String) { self.init(line: nil, message) }

  init(line: Int?, _ message: String) {
    self.line = line
    self.message = message
  }

  /// Both, as `line 3: …`.
  public var description: String { line.map { "line \($0): \(message)" } ?? message }
}
