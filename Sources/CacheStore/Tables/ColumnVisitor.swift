/// A column of `last_request`, as ``RowCoder`` lists it.
struct Column {
  /// What it is for; all but `identifier`, `checksum` and `mark` are in the row's checksum.
  enum Role {
    case identifier
    case account
    /// What the row was asked for by.
    case request
    /// What else tells the rows of a request apart.
    case place
    case value
    case checksum
    /// What people set, and deliveries do not depend on.
    case mark
  }

  /// The numbers that it may hold. A checksum says that they are as they were written, not who wrote them: they are brought
  /// into a range in which every sum and difference of theirs is a number, too.
  enum Range { case all, status, instants, counts }

  let name: String
  let role: Role
  let range: Range

  init(_ name: String, _ role: Role = .value, within range: Range = .all) {
    self.name = name
    self.role = role
    self.range = range
  }

  var isInChecksum: Bool { role != .identifier && role != .checksum && role != .mark }

  /// Whether a row that is written again gets it anew: its place among the rows stays.
  var isUpdated: Bool { role == .value || role == .checksum || role == .mark }
}

/// What is done with each column of a row and its value, in their order; see ``RowCoder``.
protocol ColumnVisitor: ~Copyable {
  mutating func visit<Value: ColumnValue>(_ column: Column, _ value: inout Value)
}

/// What may stand in a column.
protocol ColumnValue {
  mutating func read(_ statement: Statement, _ column: Int32)
  mutating func bind(to binder: inout ParameterBinder)
  mutating func add(to layout: inout ByteLayout)
  mutating func clamp(to range: Column.Range)
}

extension ColumnValue {
  mutating func clamp(to range: Column.Range) {}
}

// MARK: Visitors

/// Writes a part of a statement's text.
struct ColumnText: ColumnVisitor {
  enum Part {
    case selected, selectedWithRequest
    /// What an insertion names, and its parameters.
    case names, parameters
    /// What an update sets.
    case assignments
  }

  private let part: Part
  private var list = CommaList()
  private var position = 0

  init(_ part: Part) { self.part = part }

  var text: String { list.text }

  mutating func visit<Value: ColumnValue>(_ column: Column, _ value: inout Value) { add(column) }

  private mutating func add(_ column: Column) {
    position += 1
    if part == .assignments, !column.isUpdated { return }
    if part == .selected, column.role == .request { return }
    switch part {
    // An account without rows has an identifier all the same.
    case .selected, .selectedWithRequest: list.add(column.role == .account ? "a.id" : "r." + column.name)
    case .names: list.add(column.name)
    case .parameters: list.add("?" + position.description)
    case .assignments: list.add(column.name + " = ?" + position.description)
    }
  }
}

/// Binds the values to a statement whose parameters are numbered as the columns.
struct ParameterBinder: ColumnVisitor {
  enum Purpose {
    case insert(identifier: Bool)
    case update
  }

  let statement: Statement
  private let purpose: Purpose
  /// The parameter of the value that is being bound.
  private(set) var position: Int32 = 0
  /// The parameter of the fields, which are bound where they are for as long as the statement runs.
  var fieldsPosition: Int32 = 0

  init(_ statement: Statement, _ purpose: Purpose) {
    self.statement = statement
    self.purpose = purpose
  }

  mutating func visit<Value: ColumnValue>(_ column: Column, _ value: inout Value) {
    position += 1
    if isBound(column) { value.bind(to: &self) }
  }

  private func isBound(_ column: Column) -> Bool {
    switch purpose {
    case .insert(let identifier): column.role != .identifier || identifier
    case .update: column.role == .identifier || column.isUpdated
    }
  }
}

/// Reads the values of the row that a statement stands on.
struct ColumnReader: ColumnVisitor {
  let statement: Statement
  /// Whether what the row was asked for by is among the columns.
  let readsRequest: Bool
  /// The next column; at last the one after the row's.
  private(set) var position: Int32

  init(_ statement: Statement, from position: Int32, readsRequest: Bool) {
    self.statement = statement
    self.position = position
    self.readsRequest = readsRequest
  }

  mutating func visit<Value: ColumnValue>(_ column: Column, _ value: inout Value) {
    guard column.role != .request || readsRequest else { return }
    value.read(statement, position)
    position += 1
  }
}

extension ByteLayout: ColumnVisitor {
  /// Adds what is part of the checksum.
  mutating func visit<Value: ColumnValue>(_ column: Column, _ value: inout Value) {
    if column.isInChecksum { value.add(to: &self) }
  }
}

/// Brings numbers into their range.
struct Clamp: ColumnVisitor {
  mutating func visit<Value: ColumnValue>(_ column: Column, _ value: inout Value) {
    if column.range != .all { value.clamp(to: column.range) }
  }
}

// MARK: Values

extension Int64: ColumnValue {
  mutating func read(_ statement: Statement, _ column: Int32) {
    self = statement.integer(column)
  }
  mutating func bind(to binder: inout ParameterBinder) {
    binder.statement.bind(binder.position, self)
  }
  mutating func add(to layout: inout ByteLayout) { layout.add(self) }

  mutating func clamp(to range: Column.Range) {
    switch range {
    case .instants: self = asInstant
    case .counts: self = asCount
    case .status, .all: break
    }
  }

  /// An instant in milliseconds, within the years that have four digits, either side of 1970.
  var asInstant: Int64 { Swift.min(Swift.max(self, -62_135_596_800_000), 253_402_300_799_999) }

  /// A count, a size or a duration: no less than nothing, and a million of the largest can be added up.
  var asCount: Int64 { Swift.min(Swift.max(self, 0), 1 << 43) }
}

extension Int: ColumnValue {
  mutating func read(_ statement: Statement, _ column: Int32) {
    self = Int(statement.integer(column))
  }
  mutating func bind(to binder: inout ParameterBinder) {
    binder.statement.bind(binder.position, self)
  }
  mutating func add(to layout: inout ByteLayout) { layout.add(Int64(self)) }

  mutating func clamp(to range: Column.Range) {
    if range == .status, !(100...999).contains(self) { self = 999 }
  }
}

extension Bool: ColumnValue {
  mutating func read(_ statement: Statement, _ column: Int32) {
    self = statement.flag(column)
  }
  mutating func bind(to binder: inout ParameterBinder) {
    binder.statement.bind(binder.position, self)
  }
  mutating func add(to layout: inout ByteLayout) { layout.add(self ? 1 : 0) }
}

extension String: ColumnValue {
  mutating func read(_ statement: Statement, _ column: Int32) {
    self = statement.text(column)
  }
  mutating func bind(to binder: inout ParameterBinder) {
    binder.statement.bind(binder.position, self)
  }
  mutating func add(to layout: inout ByteLayout) {
    withUTF8 { layout.add(UnsafeRawBufferPointer($0)) }
  }
}

extension String?: ColumnValue {
  mutating func read(_ statement: Statement, _ column: Int32) {
    self = statement.optionalText(column)
  }
  mutating func bind(to binder: inout ParameterBinder) {
    binder.statement.bind(binder.position, self)
  }
  mutating func add(to layout: inout ByteLayout) {
    layout.add(self == nil ? 0 : 1)
    layout.add(self ?? "")
  }
}

extension HTTPFields: ColumnValue {
  mutating func read(_ statement: Statement, _ column: Int32) {
    self = HTTPFields(wire: Array(statement.bytes(column)))
  }
  mutating func bind(to binder: inout ParameterBinder) {
    binder.fieldsPosition = binder.position
  }
  mutating func add(to layout: inout ByteLayout) {
    wire.withUnsafeBytes { layout.add($0) }
  }
}
