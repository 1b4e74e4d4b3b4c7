import Fusion
import NMEA

/// The values of a recorded state that exports and the history need. An unknown number is NaN.
///
/// The JSON is read with a scanner of its own. A `JSONDecoder` would decode the whole state, and the recording of a day
/// has a million states.
public struct RecordedState: Sendable {
  /// The numbers, in the units of the report.
  public enum Field: Int, CaseIterable, Sendable {
    case monotonic
    case latitude, longitude, altitudeHAE, altitudeMSL, sigmaHorizontal, sigmaVertical, positionAge
    case speed, track, climb
    case roll, pitch, yaw, sigmaYaw
    case pressure, temperature, humidity
    case volts, amperes
    case fixMode, fixStatus, satellites, hdop
  }

  public private(set) var mode = FusedState.Mode.none
  /// The UTC time of the state, as the receiver reported it; `nil` if it reported none.
  public private(set) var time: UTCTime?
  /// Whether the receiver had confirmed its date.
  public private(set) var isTimeConfirmed = false
  /// The range of the time's text in the data, counted from the first byte.
  private(set) var timeRange: Range<Int>?
  private var numbers = [Double](repeating: .nan, count: Field.allCases.count)

  /// `nil` if the data is not a state.
  public init?(_ data: ArraySlice<UInt8>) {
    let isRead = data.withUnsafeBufferPointer { bytes in
      var cursor = JSONCursor(bytes)
      return readObject(RecordedState.parts[0], &cursor) && cursor.isAtEnd
    }
    // The monotonic clock counts from the start of the machine, so it stays below a billion seconds.
    guard isRead, hasMode, (-1e9...1e9).contains(self[.monotonic]) else { return nil }
    if hasPosition {
      guard (-90...90).contains(self[.latitude]), (-180...180).contains(self[.longitude]),
        (-1e9...1e9).contains(self[.positionAge])
      else { return nil }
    }
  }

  public subscript(_ field: Field) -> Double { numbers[field.rawValue] }

  /// A number; `nil` if it is unknown.
  public func known(_ field: Field) -> Double? { self[field].isNaN ? nil : self[field] }

  public func whole(_ field: Field) -> Int? { known(field).flatMap { Int(exactly: $0.rounded()) } }

  public var hasPosition: Bool { !self[.latitude].isNaN || !self[.longitude].isNaN }

  /// Whether the position is dead-reckoned: by the IMU if the receiver's last epoch has no fix, or by the receiver.
  public var isReckoned: Bool {
    switch mode {
    case .deadReckoning: true
    case .fused: (whole(.fixMode) ?? 0) < 2
    case .none, .attitude, .gnss, .asleep: whole(.fixStatus) == 5
    }
  }

  private var hasMode = false

  /// An object of the report, with the numbers that are read from it.
  private struct Part {
    var name: StaticString
    var fields: [(key: StaticString, field: Field)]
  }

  /// The state itself, and the objects in it.
  private static let parts = [
    Part(name: "", fields: [("monotonic", .monotonic)]),
    Part(
      name: "position",
      fields: [
        ("lat", .latitude), ("lon", .longitude), ("altHAE", .altitudeHAE), ("altMSL", .altitudeMSL),
        ("sigmaHorizontal", .sigmaHorizontal), ("sigmaVertical", .sigmaVertical), ("age", .positionAge),
      ]),
    Part(name: "velocity", fields: [("speed", .speed), ("track", .track), ("climb", .climb)]),
    Part(
      name: "attitude", fields: [("roll", .roll), ("pitch", .pitch), ("yaw", .yaw), ("sigmaYaw", .sigmaYaw)]),
    Part(
      name: "air", fields: [("pressure", .pressure), ("temperature", .temperature), ("humidity", .humidity)]),
    Part(name: "supply", fields: [("volts", .volts), ("amperes", .amperes)]),
    Part(
      name: "fix",
      fields: [("mode", .fixMode), ("status", .fixStatus), ("satellites", .satellites), ("hdop", .hdop)]),
  ]

  /// Reads an object. Of the objects in a state, those in `parts` are read; all other objects, and lists, are skipped.
  private mutating func readObject(_ part: Part, _ cursor: inout JSONCursor) -> Bool {
    guard cursor.take("{") else { return false }
    if cursor.take("}") { return true }
    repeat {
      guard let key = cursor.string(), cursor.take(":"), readValue(part, key, &cursor) else { return false }
    } while cursor.take(",")
    return cursor.take("}")
  }

  private mutating func readValue(
    _ part: Part, _ key: UnsafeBufferPointer<UInt8>, _ cursor: inout JSONCursor
  ) -> Bool {
    let isState = part.name.utf8CodeUnitCount == 0
    switch cursor.next {
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      guard isState, let inner = RecordedState.parts.first(where: { key.spells($0.name) }) else {
        return cursor.skipNested()
      }
      return readObject(inner, &cursor)
    case UInt8(ascii: "\""):
      guard let text = cursor.string() else { return false }
      if isState, key.spells("mode") {
        guard let mode = FusedState.Mode(rawValue: String(decoding: text, as: UTF8.self)) else { return false }
        self.mode = mode
        hasMode = true
      } else if isState, key.spells("time") {
        time = UTCText.read(text)
        timeRange = cursor.position - 1 - text.count..<cursor.position - 1
      }
      return true
    default:
      guard let word = cursor.word() else { return false }
      if isState, key.spells("timeConfirmed") { isTimeConfirmed = word.spells("true") }
      guard let field = part.fields.first(where: { key.spells($0.key) })?.field else { return true }
      guard let value = DecimalNumber.read(word), value.isFinite else { return false }
      numbers[field.rawValue] = value
      return true
    }
  }
}

/// Scans JSON from left to right. Its results are views of the given bytes, and must not outlive them.
private struct JSONCursor {
  private let bytes: UnsafeBufferPointer<UInt8>
  private(set) var position = 0

  init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  /// The next byte that is not blank; `nil` at the end.
  var next: UInt8? {
    mutating get {
      while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) { position += 1 }
      return position < bytes.count ? bytes[position] : nil
    }
  }

  var isAtEnd: Bool { mutating get { next == nil } }

  mutating func take(_ letter: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: letter) else { return false }
    position += 1
    return true
  }

  /// The text between quotes, with unresolved escapes: the needed keys and values have none.
  mutating func string() -> UnsafeBufferPointer<UInt8>? {
    guard take("\"") else { return nil }
    let start = position
    while position < bytes.count {
      let byte = bytes[position]
      if byte == UInt8(ascii: "\"") {
        position += 1
        return UnsafeBufferPointer(rebasing: bytes[start..<position - 1])
      }
      position += byte == UInt8(ascii: "\\") ? 2 : 1
    }
    return nil
  }

  /// A number, or true, false or null.
  mutating func word() -> UnsafeBufferPointer<UInt8>? {
    guard next != nil else { return nil }
    let start = position
    while position < bytes.count, JSONCursor.isOfWord(bytes[position]) { position += 1 }
    return position > start ? UnsafeBufferPointer(rebasing: bytes[start..<position]) : nil
  }

  /// Skips a list or an object of any depth.
  mutating func skipNested() -> Bool {
    var depth = 0
    while let byte = next {
      switch byte {
      case UInt8(ascii: "\""):
        if string() == nil { return false }
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      default: break
      }
      position += 1
      if depth == 0 { return true }
    }
    return false
  }

  private static func isOfWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "E"),
      UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
      true
    default: false
    }
  }
}

extension UnsafeBufferPointer<UInt8> {
  fileprivate func spells(_ word: StaticString) -> Bool {
    guard count == word.utf8CodeUnitCount else { return false }
    for index in 0..<count where self[index] != word.utf8Start[index] { return false }
    return true
  }
}
