/// What a board file says of its recording.
public struct RecordSettings: Equatable, Sendable {
  /// The folder with the segments.
  public var path: String
  /// What they may take up together, in millions of bytes.
  public var maximumMegabytes: Int
  /// What is older is removed; `nil` to keep it for as long as there is room.
  public var maximumAge: Duration?
  /// The longest that what was recorded is not on the disk yet.
  public var syncInterval: Duration
  /// Whether it is made smaller.
  public var compression: RecordCompression
  /// Whether this is a reason to power the devices, rather than to write down what others have woken.
  public var wakes: Bool

  public init(
    path: String, maximumMegabytes: Int = 1000, maximumAge: Duration? = nil, syncInterval: Duration = .seconds(5),
    compression: RecordCompression = .none, wakes: Bool = false
  ) {
    self.path = path
    self.maximumMegabytes = maximumMegabytes
    self.maximumAge = maximumAge
    self.syncInterval = syncInterval
    self.compression = compression
    self.wakes = wakes
  }
}

/// How what is recorded is made smaller.
public enum RecordCompression: String, Equatable, Sendable {
  case none
  /// Zstandard: less than half the size, where its library is installed.
  case zstd
}

extension RecordSettings {
  init(_ section: BoardSection) throws(BoardError) {
    var section = section
    self.init(path: try section.required("path"))
    // Less holds no eight segments of a useful size.
    maximumMegabytes = try section.integer("maximumMegabytes", in: 4...100_000_000) ?? maximumMegabytes
    maximumAge = try section.number("maximumAgeHours", in: 0.01...1_000_000).map { .nanoseconds(Int64($0 * 3600e9)) }
    syncInterval =
      try section.number("syncSeconds", in: 0.1...3600).map { .nanoseconds(Int64($0 * 1e9)) } ?? syncInterval
    if let name = try section.string("compression") {
      guard let known = RecordCompression(rawValue: name) else {
        throw section.wrong("compression", expected: "\"none\" or \"zstd\"")
      }
      compression = known
    }
    wakes = try section.boolean("wakes") ?? wakes
    try section.finish()
  }
}
