/// Notices a chip that says the same for ever. That it says the same twice is no wonder where the kernel has few digits.
struct IIORepetition<Value: Equatable> {
  private static var most: Int { 30 }

  private var last: Value?
  private var repeats = 0

  mutating func isFresh(_ value: Value) -> Bool {
    repeats = value == last ? repeats + 1 : 0
    last = value
    return repeats <= IIORepetition.most
  }
}
