import Glibc

/// The lengths of the gaps between clients, in bins of a quarter octave. Old gaps have less weight.
public struct GapHistogram: Equatable, Sendable {
  static let binsPerOctave = 4.0
  /// The upper edge of the first bin.
  static let shortestSeconds = 0.25
  /// The number of bins, from a quarter of a second to ten days. The last bin also counts longer gaps.
  public static let binCount = 88
  /// The effective number of remembered gaps.
  static let memory = 64.0

  /// The weight of each bin.
  public internal(set) var weights = [Double](repeating: 0, count: GapHistogram.binCount)

  public init() {}

  /// The total weight of the remembered gaps.
  public var weight: Double { weights.reduce(0, +) }

  static func bin(of seconds: Double) -> Int {
    guard seconds > shortestSeconds else { return 0 }
    return Int(min(Double(binCount - 1), (log2(seconds / shortestSeconds) * binsPerOctave).rounded(.up)))
  }

  /// The longest gap of a bin, seconds.
  public static func upperEdge(_ bin: Int) -> Double { shortestSeconds * exp2(Double(bin) / binsPerOctave) }

  /// The typical gap of a bin, seconds.
  static func middle(_ bin: Int) -> Double { shortestSeconds * exp2((Double(bin) - 0.5) / binsPerOctave) }

  public mutating func add(_ seconds: Double) {
    for bin in weights.indices { weights[bin] *= 1 - 1 / GapHistogram.memory }
    weights[GapHistogram.bin(of: seconds)] += 1
  }
}
