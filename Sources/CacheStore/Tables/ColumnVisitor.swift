/// A column of `last_request`, as ``RowCoder`` lists it.
struct Column {
  /// The column's purpose; every role but `identifier`, `checksum` and `mark` is part of the row's checksum.
  enum Role {
    case identifier
    case account
    /// A part of the request key.
    case request
    /// Distinguishes the rows of one request.
    case place
    case value
    case checksum
    /// Set by people; no delivery depends on it.
    case mark
  }

  /// The range a number is clamped to. A matching checksum proves that the row was not damaged, not who wrote it, so
  /// every value is clamped to a range in which sums and differences cannot overflow.
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

  /// Whether an UPDATE sets the column; the columns that identify the row stay.
  fileprivate var isUpdated: Bool { role == .value || role == .checksum || role == .mark }
}

/// Visits each column of a row with its value, in the table's order; see ``RowCoder``.
protocol ColumnVisitor: ~Copyable {
  mutating func visit<Value: ColumnValue>(_ column: Column, _ value: inout Value)
}

/// A value that can be stored in a column.
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

/// Builds the column list of a statement.
struct ColumnText: ColumnVisitor {
  enum Part {
    case selected, selectedWithRequest
    /// The column names of an INSERT, and its parameters.
    case names, parameters
    /// The SET list of an UPDATE.
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
    // From the account: the LEFT JOIN also returns an account without rows.
    case .selected, .selectedWithRequest: list.add(column.role == .account ? "a.id" : "r." + column.name)
    case .names: list.add(column.name)
    case .parameters: list.add("?" + position.description)
    case .assignments: list.add(column.name + " = ?" + position.description)
    }
  }
}

/// Binds the values to a statement whose parameters have the columns' numbers.
struct ParameterBinder: ColumnVisitor {
  enum Purpose {
    case insert(identifier: Bool)
    case update
  }

  let statement: Statement
  private let purpose: Purpose
  /// The parameter of the value that is being bound.
  private(set) var position: Int32 = 0
  /// The parameter of the fields, which are bound without a copy while the statement runs.
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

/// Reads the values of the statement's current row.
struct ColumnReader: ColumnVisitor {
  let statement: Statement
  /// Whether the columns include the request key.
  let readsRequest: Bool
  /// The next column; after the visit, the first column behind the row's own.
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
  /// Adds the columns that are part of the checksum.
  mutating func visit<Value: ColumnValue>(_ column: Column, _ value: inout Value) {
    if column.isInChecksum { value.add(to: &self) }
  }
}

/// Clamps numbers to the range of their column.
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

  /// Clamped to an instant in milliseconds between the years 1 and 9999.
  var asInstant: Int64 { Swift.min(Swift.max(self, -62_135_596_800_000), 253_402_300_799_999) }

  /// Clamped to a count, a size or a duration: not negative, and a million of the largest can be summed.
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
