/// Whether the condition comes to hold while others run: for what ends on a queue that says nothing when it has.
public func eventually(_ condition: () throws -> Bool) async rethrows -> Bool {
  for _ in 0..<20_000 {
    if try condition() { return true }
    await Task.yield()
  }
  return try condition()
}
