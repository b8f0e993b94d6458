extension Int64 {
  /// Adds, and stays at the largest number where the sum would be larger: counts come from files that anybody may have
  /// written.
  mutating func saturate(adding other: Int64) {
    let (sum, overflow) = addingReportingOverflow(other)
    self = overflow ? (other < 0 ? .min : .max) : sum
  }
}
