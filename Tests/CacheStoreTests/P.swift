import Testing
@Suite("placeholder") struct Placeholder { @Test func one() { #expect(PlaceholderValue == 1) } }
let PlaceholderValue = 1
