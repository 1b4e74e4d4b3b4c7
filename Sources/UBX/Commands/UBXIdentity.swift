/// MON-VER: the identity of a u-blox receiver (30 characters of software, 10 of hardware, then extensions of 30 each).
public struct UBXVersion: Equatable, Sendable {
  public let software: String
  /// The version of the hardware, for example `00080000`.
  public let hardware: String
  public let extensions: [String]

  public static let request = UBXMessage(UBXKind.monVER)

  /// `nil` if the payload is too short.
  public init?(payload: [UInt8]) {
    guard payload.count >= 40 else { return nil }
    software = UBXVersion.text(payload[..<30])
    hardware = UBXVersion.text(payload[30..<40])
    extensions = stride(from: 40, to: payload.count, by: 30).map {
      UBXVersion.text(payload[$0..<min($0 + 30, payload.count)])
    }
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    String(
      decoding: bytes.prefix { $0 != 0 }.map { (0x20..<0x7F).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
  }

  /// The model, for example `NEO-M8N`, if the receiver states it.
  public var model: String? { value("MOD") }

  /// The protocol version in hundredths, 1800 for 18.00. If the receiver does not state the version, this is the lowest
  /// version of its hardware.
  public var protocolVersion: Int {
    if let stated = value("PROTVER") {
      let parts = stated.split(separator: ".")
      if let whole = parts.first.flatMap({ Int($0) }), (1...99).contains(whole) {
        let rest = parts.count > 1 ? Int((parts[1] + "00").prefix(2)) ?? 0 : 0
        return 100 * whole + rest
      }
    }
    return switch hardware {
    case "00070000": 1400
    case "00080000": 1500
    case "00190000": 2700
    case "000A0000": 3400
    // All other values are of the sixth generation and earlier.
    default: 1300
    }
  }

  /// The value of an extension: `PROTVER=18.00` in newer receivers, `PROTVER 14.00` in older receivers.
  private func value(_ name: String) -> String? {
    for text in extensions where text.hasPrefix(name) {
      let rest = text.dropFirst(name.count)
      if let separator = rest.first, separator == "=" || separator == " " { return String(rest.dropFirst()) }
    }
    return nil
  }
}

/// SEC-UNIQID: the unique number of a u-blox receiver, from protocol 18 on (u-blox M8 receiver description, 32.19.2;
/// M10 interface description, 3.16.1).
public struct UBXUniqueID: Equatable, Sendable {
  /// The number in hexadecimal: five bytes, or six from the tenth generation on, for example `CFFB03D259`.
  public let text: String

  public static let request = UBXMessage(UBXKind.secUNIQID)
  /// The first protocol version with this message, in hundredths.
  public static let leastProtocolVersion = 1800

  /// `nil` if the payload is not such an answer.
  public init?(payload: [UInt8]) {
    let length = payload.first == 1 ? 5 : payload.first == 2 ? 6 : 0
    guard length > 0, payload.count == 4 + length else { return nil }
    text = payload[4...].map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
  }
}
