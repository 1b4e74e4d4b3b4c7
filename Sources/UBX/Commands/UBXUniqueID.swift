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
