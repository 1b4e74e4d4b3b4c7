/// The mounting of a chip as stated in the device tree's `mount-matrix`. It rotates measurements into the axes of the
/// board, and mirrors them if the chip's axes are left-handed.
public struct IIOMountMatrix: Equatable, Sendable {
  private let first: SIMD3<Double>
  private let second: SIMD3<Double>
  private let third: SIMD3<Double>

  public static let identity = IIOMountMatrix(SIMD3(1, 0, 0), SIMD3(0, 1, 0), SIMD3(0, 0, 1))

  private init(_ first: SIMD3<Double>, _ second: SIMD3<Double>, _ third: SIMD3<Double>) {
    self.first = first
    self.second = second
    self.third = third
  }

  /// - Parameter text: the matrix row by row, as in `1, 0, 0; 0, 1, 0; 0, 0, 1`. The result is `nil` if the text has
  ///   another form, or if the matrix does more than rotate and mirror
  public init?(_ text: String) {
    var rows: [SIMD3<Double>] = []
    for row in text.split(separator: ";", omittingEmptySubsequences: false) {
      var numbers: [Double] = []
      for word in row.split(separator: ",", omittingEmptySubsequences: false) {
        guard let number = Double(word.filter { $0 != " " }) else { return nil }
        numbers.append(number)
      }
      guard numbers.count == 3 else { return nil }
      rows.append(SIMD3(numbers[0], numbers[1], numbers[2]))
    }
    guard rows.count == 3 else { return nil }
    self.init(rows[0], rows[1], rows[2])
    func isNear(_ a: Double, _ b: Double) -> Bool { abs(a - b) < 0.02 }
    guard rows.allSatisfy({ isNear(($0 * $0).sum(), 1) }), isNear((first * second).sum(), 0),
      isNear((second * third).sum(), 0), isNear((third * first).sum(), 0)
    else { return nil }
  }

  /// Whether the matrix mirrors, so that it converts between left-handed and right-handed axes.
  public var mirrors: Bool {
    let normal = SIMD3(
      first.y * second.z - first.z * second.y, first.z * second.x - first.x * second.z,
      first.x * second.y - first.y * second.x)
    return (normal * third).sum() < 0
  }

  public func apply(_ vector: SIMD3<Double>) -> SIMD3<Double> {
    SIMD3((first * vector).sum(), (second * vector).sum(), (third * vector).sum())
  }
}
