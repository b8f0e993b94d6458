import Foundation
import SwiftOperators
import SwiftParser
import SwiftSyntax

/// A place where a small bug can be put in, and the text that holds both the right code and, switched on, the wrong one.
struct Site {
  var path: String
  var start: Int
  var end: Int
  var line: Int
  var kind: String
  var original: String
  var mutated: String
  /// The replacement, in which ``number`` stands for that of the mutant.
  var replacement: String
  static let number = "\u{1}"
}

/// Finds the sites of one file.
///
/// Only what is asked at run time is changed; types, patterns and declarations stay, so that nearly all of it compiles.
final class SiteFinder: SyntaxVisitor {
  private(set) var sites: [Site] = []
  private let path: String
  private let converter: SourceLocationConverter

  init(path: String, tree: SourceFileSyntax) {
    self.path = path
    converter = SourceLocationConverter(fileName: path, tree: tree)
    super.init(viewMode: .sourceAccurate)
  }

  private func add(_ node: some SyntaxProtocol, _ kind: String, mutated: String, replacement: String) {
    sites.append(
      Site(
        path: path, start: node.positionAfterSkippingLeadingTrivia.utf8Offset,
        end: node.endPositionBeforeTrailingTrivia.utf8Offset,
        line: node.startLocation(converter: converter).line, kind: kind, original: node.trimmedDescription,
        mutated: mutated, replacement: replacement))
  }

  /// Comparisons at their border, differences the other way round, and one of two conditions left out.
  override func visit(_ node: InfixOperatorExprSyntax) -> SyntaxVisitorContinueKind {
    guard let name = node.operator.as(BinaryOperatorExprSyntax.self)?.operator.text else {
      return .visitChildren
    }
    let (left, right) = (node.leftOperand.trimmedDescription, node.rightOperand.trimmedDescription)
    func replace(_ kind: String, by mutated: String) {
      add(
        node, kind, mutated: mutated,
        replacement: "(mutantIsOn(\(Site.number)) ? (\(mutated)) : (\(left) \(name) \(right)))")
    }
    switch name {
    case "<": replace("border", by: "\(left) <= \(right)")
    case "<=": replace("border", by: "\(left) < \(right)")
    case ">": replace("border", by: "\(left) >= \(right)")
    case ">=": replace("border", by: "\(left) > \(right)")
    case "==": replace("comparison", by: "\(left) != \(right)")
    case "!=": replace("comparison", by: "\(left) == \(right)")
    case "-" where left != right: replace("swapped operands", by: "\(right) - \(left)")
    case "&&", "||":
      replace("dropped condition", by: left)
    default: break
    }
    return .visitChildren
  }

  override func visit(_ node: PrefixOperatorExprSyntax) -> SyntaxVisitorContinueKind {
    if node.operator.text == "!" {
      let inner = node.expression.trimmedDescription
      add(
        node, "dropped negation", mutated: inner,
        replacement: "(mutantIsOn(\(Site.number)) ? (\(inner)) : !(\(inner)))")
    }
    return .visitChildren
  }

  override func visit(_ node: TernaryExprSyntax) -> SyntaxVisitorContinueKind {
    let (condition, first, second) = (
      node.condition.trimmedDescription, node.thenExpression.trimmedDescription,
      node.elseExpression.trimmedDescription
    )
    add(
      node, "swapped operands", mutated: "\(condition) ? \(second) : \(first)",
      replacement: "((\(condition)) != mutantIsOn(\(Site.number)) ? \(first) : \(second))")
    return .visitChildren
  }

  override func visit(_ node: IntegerLiteralExprSyntax) -> SyntaxVisitorContinueKind {
    // Positions of a tuple, shifts and bit patterns are no counts; those of patterns are not asked.
    guard let parent = node.parent, !parent.is(ExpressionPatternSyntax.self),
      !parent.is(EnumCaseElementSyntax.self),
      !node.literal.text.hasPrefix("0x"), node.literal.text.utf8.count <= 6
    else { return .visitChildren }
    if parent.is(InitializerClauseSyntax.self), parent.parent?.is(EnumCaseElementSyntax.self) == true {
      return .visitChildren
    }
    let text = node.literal.text
    add(node, "off by one", mutated: "\(text) + 1", replacement: "(\(text) + mutantOne(\(Site.number)))")
    return .visitChildren
  }

  /// Calls for their effect alone, and errors that nobody hears of.
  override func visit(_ node: CodeBlockItemSyntax) -> SyntaxVisitorContinueKind {
    guard case .expr(let expression) = node.item, let list = node.parent?.as(CodeBlockItemListSyntax.self)
    else {
      return .visitChildren
    }
    // The only expression of a closure or a function may be what it returns.
    if list.count == 1, !Self.returnsNothing(around: node) { return .visitChildren }
    let text = expression.trimmedDescription
    guard Self.isCall(expression) else { return .visitChildren }
    add(node, "dropped call", mutated: "", replacement: "if !mutantIsOn(\(Site.number)) { \(text) }")
    if text.hasPrefix("try "), !text.hasPrefix("try?") {
      add(
        node, "swallowed error", mutated: "try? \(text.dropFirst(4))",
        // Written twice, since what a `catch` would throw again has lost its type.
        replacement: "if mutantIsOn(\(Site.number)) { _ = try? \(text.dropFirst(4)) } else { \(text) }")
    }
    return .visitChildren
  }

  /// A case that does nothing.
  override func visit(_ node: SwitchCaseSyntax) -> SyntaxVisitorContinueKind {
    let text = node.statements.trimmedDescription
    let gives = node.statements.contains {
      $0.item.is(ReturnStmtSyntax.self) || $0.item.is(ThrowStmtSyntax.self)
        || $0.item.is(BreakStmtSyntax.self)
        || $0.item.is(ContinueStmtSyntax.self)
    }
    let acts = node.statements.contains {
      guard case .expr(let expression) = $0.item else { return false }
      return Self.isCall(expression) || expression.is(InfixOperatorExprSyntax.self)
    }
    // One whose last word is a value may be what the switch gives.
    if !gives, acts, !node.statements.isEmpty, node.statements.count > 1 {
      add(
        node.statements, "removed case", mutated: "break",
        replacement: "if !mutantIsOn(\(Site.number)) { \(text) }")
    }
    return .visitChildren
  }

  // What is compiled into the caller, or checked before the program runs.
  override func visit(_ node: AttributeSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
  override func visit(_ node: IfConfigClauseSyntax) -> SyntaxVisitorContinueKind {
    node.condition?.trimmedDescription.contains("Darwin") == true ? .skipChildren : .visitChildren
  }

  private static func isCall(_ expression: ExprSyntax) -> Bool {
    if let attempt = expression.as(TryExprSyntax.self) { return isCall(attempt.expression) }
    if let wait = expression.as(AwaitExprSyntax.self) { return isCall(wait.expression) }
    guard let call = expression.as(FunctionCallExprSyntax.self) else { return false }
    let name = call.calledExpression.trimmedDescription
    return !name.hasSuffix(".init") && !name.hasPrefix("fatalError") && !name.hasPrefix("precondition")
      && !name.hasPrefix("assert")
  }

  private static func returnsNothing(around node: CodeBlockItemSyntax) -> Bool {
    var next = node.parent
    while let current = next {
      if let function = current.as(FunctionDeclSyntax.self) { return function.signature.returnClause == nil }
      if current.is(InitializerDeclSyntax.self) || current.is(DeinitializerDeclSyntax.self) { return true }
      if current.is(AccessorDeclSyntax.self) || current.is(ClosureExprSyntax.self) { return false }
      if current.is(PatternBindingSyntax.self) { return false }
      if current.is(IfExprSyntax.self) || current.is(ForStmtSyntax.self) || current.is(GuardStmtSyntax.self)
        || current.is(WhileStmtSyntax.self) || current.is(DoStmtSyntax.self)
      {
        // Inside a statement; an `if` may be a value too, where its only word is one.
        return !current.is(IfExprSyntax.self) || current.parent?.is(ExpressionStmtSyntax.self) == true
      }
      next = current.parent
    }
    return false
  }
}

/// A generator whose draws are the same on every machine (SplitMix64).
struct Draws: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

/// The code that a module needs to ask whether a mutant is on. By the environment, so that child processes have it too.
/// Where a file is named, each mutant that is asked for leaves its mark there, at its number.
let support = """
  private import Glibc

  private let mutantThatIsOn = getenv("CACHEFETCH" + "_MUTANT").map { atoi($0) } ?? -1

  nonisolated(unsafe) private let reachedMutants: UnsafeMutablePointer<UInt8>? = {
    guard let path = getenv("CACHEFETCH" + "_MUTANTS_REACHED") else { return nil }
    let file = open(path, O_RDWR | O_CLOEXEC)
    // Without a descriptor to be had, as a test may have it, there is no mark.
    guard file >= 0 else { return nil }
    defer { close(file) }
    guard let map = mmap(nil, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), map != MAP_FAILED else { return nil }
    return map.assumingMemoryBound(to: UInt8.self)
  }()

  @inline(never) func mutantIsOn(_ number: Int32) -> Bool {
    reachedMutants?[Int(number)] = 1
    return mutantThatIsOn == number
  }
  @inline(never) func mutantOne<Number: Numeric>(_ number: Int32) -> Number { mutantIsOn(number) ? 1 : 0 }
  """

// usage: mutator TREE SEEDS COUNT FOLDERS [EXCLUDED...]; draws COUNT mutants for each of the seeds from the folders below
// Sources (commas separate both; no folder is all of them), writes them into TREE/Sources, and a line of JSON for each to
// standard output. EXCLUDED are their numbers that do not compile.
let arguments = CommandLine.arguments
let tree = arguments[1]
let seeds = arguments[2].split(separator: ",").map { UInt64($0)! }
let count = Int(arguments[3])!
let folders = arguments[4].split(separator: ",").map { "Sources/\($0)/" }
let excluded = Set(arguments.dropFirst(5).compactMap { Int($0) })

/// The folders of the modules whose sources are mutated. The one in DataService is a module of its own.
let modules = [
  "CacheStore", "DataService", "DataService/URLSessionTransport", "Launch", "RedisTier", "cachefetch",
]
/// The module that a file below Sources is a part of: the innermost.
func owner(of path: String) -> String? {
  modules.filter { path.hasPrefix("\($0)/") }.max { $0.count < $1.count }
}

var sites: [Site] = []
for module in modules {
  let folder = "\(tree)/Sources/\(module)"
  let names = FileManager.default.enumerator(atPath: folder)!.compactMap { $0 as? String }
  for name in names.sorted() where name.hasSuffix(".swift") && owner(of: "\(module)/\(name)") == module {
    let path = "\(folder)/\(name)"
    let parsed = Parser.parse(source: try String(contentsOfFile: path, encoding: .utf8))
    let folded = OperatorTable.standardOperators.foldAll(parsed, errorHandler: { _ in }).as(
      SourceFileSyntax.self)!
    let finder = SiteFinder(path: "Sources/\(module)/\(name)", tree: folded)
    finder.walk(folded)
    sites += finder.sites
  }
}

// By kind first: literals and comparisons would else be nearly all of them. A place that an earlier seed has drawn is not
// drawn again.
let drawn = sites.filter { site in folders.isEmpty || folders.contains { site.path.hasPrefix($0) } }
let sitesByKind = Dictionary(grouping: drawn, by: \.kind)
let kinds = sitesByKind.keys.sorted()
var chosen: [(seed: UInt64, site: Site)] = []
for seed in seeds {
  var draws = Draws(state: seed)
  var left: [String: [Site]] = [:]
  for kind in kinds { left[kind] = sitesByKind[kind]?.shuffled(using: &draws) }
  let wanted = chosen.count + count
  while chosen.count < wanted, left.values.contains(where: { !$0.isEmpty }) {
    let kind = kinds.randomElement(using: &draws)!
    guard let site = left[kind]?.popLast() else { continue }
    let overlaps = chosen.contains {
      $0.site.path == site.path && $0.site.start < site.end && site.start < $0.site.end
    }
    if !overlaps { chosen.append((seed, site)) }
  }
}

var edits: [String: [(Int, Site)]] = [:]
for (number, (seed, site)) in chosen.enumerated() {
  let fields: [String: Any] = [
    "number": number, "seed": seed, "path": site.path, "line": site.line, "kind": site.kind,
    "original": site.original,
    "mutated": site.mutated,
  ]
  let line = try JSONSerialization.data(withJSONObject: fields, options: [.sortedKeys])
  print(String(decoding: line, as: UTF8.self))
  if !excluded.contains(number) { edits[site.path, default: []].append((number, site)) }
}
for (path, list) in edits {
  var bytes = [UInt8](try Data(contentsOf: URL(filePath: "\(tree)/\(path)")))
  for (number, site) in list.sorted(by: { $0.1.start > $1.1.start }) {
    let text = site.replacement.replacingOccurrences(of: Site.number, with: "\(number)")
    bytes.replaceSubrange(site.start..<site.end, with: text.utf8)
  }
  try Data(bytes).write(to: URL(filePath: "\(tree)/\(path)"))
}
for module in Set(edits.keys.compactMap { owner(of: String($0.dropFirst("Sources/".count))) }) {
  try Data(support.utf8).write(to: URL(filePath: "\(tree)/Sources/\(module)/Mutants.swift"))
}
