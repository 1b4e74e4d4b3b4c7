/// A board file's settings for its recording.
public struct RecordSettings: Equatable, Sendable {
  /// The folder with the segments.
  public var path: String
  /// The maximum total size of the segments, in millions of bytes.
  public var maximumMegabytes: Int
  /// The age at which segments are removed; `nil` to keep them while there is room.
  public var maximumAge: Duration?
  /// The maximum time until recorded data is on the disk.
  public var syncInterval: Duration
  /// The compression of the segments.
  public var compression: RecordCompression
  /// Whether recording wakes the devices. Otherwise it only records devices that other clients keep awake.
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

/// The compression of the recording.
public enum RecordCompression: String, Equatable, Sendable {
  case none
  /// Zstandard: files have less than half the size, and the Zstandard library must be installed.
  case zstd
}

extension RecordSettings {
  init(_ section: BoardSection) throws(BoardError) {
    var section = section
    self.init(path: try section.required("path"))
    // A smaller maximum has no room for eight segments of a useful size.
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
