/// The sender of a sentence: the first two letters of its address.
public struct Talker: Equatable, Hashable, Sendable {
  /// The two letters; the first one is in the high byte.
  public let code: UInt16

  @inline(__always)
  public init(_ first: UInt8, _ second: UInt8) { code = UInt16(first) << 8 | UInt16(second) }

  public static let gps = Talker(UInt8(ascii: "G"), UInt8(ascii: "P"))
  public static let glonass = Talker(UInt8(ascii: "G"), UInt8(ascii: "L"))
  public static let galileo = Talker(UInt8(ascii: "G"), UInt8(ascii: "A"))
  public static let beidou = Talker(UInt8(ascii: "G"), UInt8(ascii: "B"))
  public static let beidouOld = Talker(UInt8(ascii: "B"), UInt8(ascii: "D"))
  public static let qzss = Talker(UInt8(ascii: "G"), UInt8(ascii: "Q"))
  public static let qzssOld = Talker(UInt8(ascii: "Q"), UInt8(ascii: "Z"))
  /// Quectel's own talker for its receivers' sentences about BeiDou and QZSS.
  public static let quectel = Talker(UInt8(ascii: "P"), UInt8(ascii: "Q"))
  public static let navic = Talker(UInt8(ascii: "G"), UInt8(ascii: "I"))
  /// A magnetic compass.
  static let magneticCompass = Talker(UInt8(ascii: "H"), UInt8(ascii: "C"))
  /// Several systems in one solution.
  public static let combined = Talker(UInt8(ascii: "G"), UInt8(ascii: "N"))
}

extension Talker: CustomStringConvertible {
  public var description: String {
    String(decoding: [UInt8(code >> 8), UInt8(code & 0xFF)], as: UTF8.self)
  }
}
