/// How fast a recording grows while something is recorded, measured by what there is of it.
public struct RecordingPace: Sendable {
  /// A smaller amount says nothing: a file's head is larger than the rest.
  static let leastSeconds = 30.0

  public let bytesPerSecond: Double

  /// `nil` where too little was recorded to tell.
  public init?(bytes: UInt64, seconds: Double) {
    guard seconds >= RecordingPace.leastSeconds, bytes > 0 else { return nil }
    bytesPerSecond = Double(bytes) / seconds
  }

  /// The time between two files does not count: nothing was recorded in it.
  public init?(of files: [RecordingFiles.File]) {
    let seconds = files.reduce(0) { sum, file in
      sum + Double(file.endNanoseconds - min(file.startNanoseconds, file.endNanoseconds)) / 1e9
    }
    self.init(bytes: files.reduce(0) { $0 + $1.byteCount }, seconds: seconds)
  }

  /// The duration of this number of millions of bytes.
  public func seconds(for megabytes: Int) -> Double { Double(megabytes) * 1e6 / bytesPerSecond }

  /// `about 19 hours`
  public static func text(seconds: Double) -> String {
    let (value, unit): (Double, String) =
      seconds < 7200
      ? (seconds / 60, "minutes") : seconds < 172_800 ? (seconds / 3600, "hours") : (seconds / 86_400, "days")
    return "about \(Int(min(value, 1e9).rounded())) \(unit)"
  }
}
