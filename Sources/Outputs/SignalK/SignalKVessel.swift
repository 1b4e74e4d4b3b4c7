import CSystemd
import Hub

/// What the vessel is called in Signal K: `vessels.urn:mrn:imo:mmsi:244123456`, or by a number of this machine's.
enum SignalKVessel {
  static func context(mmsi: String?) -> String {
    "vessels." + (mmsi.map { "urn:mrn:imo:mmsi:\($0)" } ?? "urn:mrn:signalk:uuid:\(uuid)")
  }

  /// The same for as long as the machine's system is; where that has no number of its own, for as long as the hub runs.
  private static let uuid: String = {
    var bytes = [UInt8](repeating: 0, count: 16)
    if csystemd_hub_identity(&bytes) != 0 { bytes = bytes.map { _ in UInt8.random(in: .min ... .max) } }
    return text(of: bytes)
  }()

  /// As a UUID of version 4 (RFC 9562, section 5.4), which the specification requires.
  static func text(of bytes: [UInt8]) -> String {
    var text = ""
    for (index, byte) in bytes.enumerated() {
      let value = index == 6 ? byte & 0x0F | 0x40 : index == 8 ? byte & 0x3F | 0x80 : byte
      if [4, 6, 8, 10].contains(index) { text += "-" }
      text += (value < 16 ? "0" : "") + String(value, radix: 16)
    }
    return text
  }
}
