/// The rate at which a recording grows, measured from its files.
public struct RecordingRate: Sendable {
  /// The minimum duration. In a shorter recording, most bytes belong to the beginning of the file.
  static let leastSeconds = 30.0

  public let bytesPerSecond: Double

  /// `nil` if nothing, or less than `leastSeconds`, was recorded.
  public init?(bytes: UInt64, seconds: Double) {
    guard seconds >= RecordingRate.leastSeconds, bytes > 0 else { return nil }
    bytesPerSecond = Double(bytes) / seconds
  }

  /// The mean rate over files. The time between two files does not count, because nothing was recorded then.
  public init?(of files: [RecordingFiles.File]) {
    let seconds = files.reduce(0) { sum, file in
      sum + Double(file.endNanoseconds - min(file.startNanoseconds, file.endNanoseconds)) / 1e9
    }
    self.init(bytes: files.reduce(0) { $0 + $1.byteCount }, seconds: seconds)
  }

  /// The duration that this number of megabytes lasts.
  public func seconds(for megabytes: Int) -> Double { Double(megabytes) * 1e6 / bytesPerSecond }

  /// A text such as `about 19 hours`.
  public static func text(seconds: Double) -> String {
    let (value, unit): (Double, String) =
      seconds < 7200
      ? (seconds / 60, "minutes") : seconds < 172_800 ? (seconds / 3600, "hours") : (seconds / 86_400, "days")
    return "about \(Int(min(value, 1e9).rounded())) \(unit)"
  }
}
