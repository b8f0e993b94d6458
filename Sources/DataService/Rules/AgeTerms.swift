package import CacheStore

/// The terms of an age, under the names that RFC 9111 section 4.2.3 gives them; all in milliseconds, none negative.
package struct AgeTerms: Sendable, Hashable {
  /// What `Age` says.
  package let ageValue: Int64
  /// How far `Date` lies before the receipt.
  package let apparentAge: Int64
  /// What the exchange took.
  package let responseDelay: Int64
  /// How long the response has been here.
  package let residentTime: Int64

  /// The terms of a response with these fields.
  package init(fields: HTTPFields, requestedAt: Int64, receivedAt: Int64, now: Int64) {
    ageValue = Freshness.ageValue(fields: fields)
    // Date has whole seconds: without rounding, every answer would arrive up to a second old.
    let receivedSecond = receivedAt.minus(receivedAt.floorModulo(1000))
    apparentAge =
      fields["Date"].flatMap { HTTPDate.parse($0, now: receivedAt) }.map { max(0, receivedSecond.minus($0)) }
      ?? 0
    responseDelay = max(0, receivedAt.minus(requestedAt))
    residentTime = max(0, now.minus(receivedAt))
  }

  /// `corrected_age_value`.
  package var correctedAgeValue: Int64 { ageValue.plus(responseDelay) }
  /// `corrected_initial_age`.
  package var correctedInitialAge: Int64 { max(apparentAge, correctedAgeValue) }
  /// `current_age`.
  package var currentAge: Int64 { correctedInitialAge.plus(residentTime) }
}
