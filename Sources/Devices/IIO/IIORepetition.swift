/// Detects a chip that repeats one value forever. Up to 30 repetitions are normal, because the kernel may state few
/// digits.
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
