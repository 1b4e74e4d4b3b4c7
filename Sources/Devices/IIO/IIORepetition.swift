/// Detects a chip that repeats one value forever. A few repetitions are normal if the kernel states few digits.
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
