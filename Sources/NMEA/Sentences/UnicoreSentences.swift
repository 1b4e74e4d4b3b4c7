/// Unicore's log UNIHEADINGA: the direction from one antenna to the other.
///
/// Its fields are separated by commas. A semicolon separates the header, which has the GPS time, from the body.
public struct UniHeading: Equatable, Sendable {
  /// The heading in degrees from true north, 0 to 360; `nil` unless it was computed with fixed ambiguities.
  public var headingDegrees: Double?
  /// The standard deviation.
  public var sigmaDegrees: Double?

  static let address: StaticString = "UNIHEADINGA"

  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 16 else { return nil }
    // Skip the rest of the header.
    fields.skip(8)
    let isComputed = fields.bytes().ends(with: ";SOL_COMPUTED")
    let isFixed = fields.bytes().ends(with: "_INT")
    // Skip the length of the baseline.
    fields.skip()
    let heading = fields.direction()
    // Skip the pitch and an unused field.
    fields.skip(2)
    guard isComputed, isFixed else { return }
    headingDegrees = heading
    sigmaDegrees = fields.number()
  }
}

extension UnsafeBufferPointer<UInt8> {
  fileprivate func ends(with text: StaticString) -> Bool {
    guard count >= text.utf8CodeUnitCount else { return false }
    return UnsafeBufferPointer(rebasing: self[(count - text.utf8CodeUnitCount)...]).spells(text)
  }
}

/// Unicore's sentence of a receiver with two antennas. Only the heading is used, because standard sentences have the
/// position and the course.
public struct KSXT: Equatable, Sendable {
  /// The heading in degrees from true north, 0 to 360; `nil` unless the ambiguities are fixed.
  public var headingDegrees: Double?

  /// The quality of a heading with fixed ambiguities.
  private static let fixed = 3

  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 11 else { return nil }
    // Skip time, longitude, latitude and height.
    fields.skip(4)
    let heading = fields.direction()
    // Skip pitch, course, speed, roll, and the quality of the position.
    fields.skip(5)
    headingDegrees = fields.integer() == KSXT.fixed ? heading : nil
  }
}

/// Unicore's log VERSIONA, the answer to the command of this name: the model and the firmware.
///
/// Example: `#VERSIONA,79,GPS,FINE,2326,378237000,15434,0,18,889;"UM982","R4.10Build15434","HRPT00-S10C-P",
/// "2310415000012-LR23A2225208904","ff2740966a10124c","2024/08/08"*769fd54f`
public struct UnicoreVersion: Equatable, Sendable {
  /// The model, for example `UM982`.
  public var model: String
  /// The firmware, for example `R4.10Build15434`.
  public var firmware: String
  /// The number that is burnt into the chip; `nil` if the log states none.
  public var chipID: String?

  static let address: StaticString = "VERSIONA"

  public init(model: String, firmware: String, chipID: String?) {
    self.model = model
    self.firmware = firmware
    self.chipID = chipID
  }

  /// - Returns: `nil` if the sentence is not this log
  public init?(_ raw: RawSentence) {
    guard raw.isLog, raw.address.spells(UnicoreVersion.address) else { return nil }
    let text = String(decoding: raw.bytes, as: UTF8.self)
    // Skip the header, which ends with a semicolon.
    let body = text.drop { $0 != ";" }.dropFirst().prefix { $0 != "*" }
    let fields = body.split(separator: ",", omittingEmptySubsequences: false).map { field in
      String(field.filter { $0 != "\"" })
    }
    guard fields.count >= 2, !fields[0].isEmpty else { return nil }
    (model, firmware) = (fields[0], fields[1])
    if fields.count > 4, !fields[4].isEmpty { chipID = fields[4] }
  }
}
