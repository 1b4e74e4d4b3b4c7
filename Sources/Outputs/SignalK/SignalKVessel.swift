import CSystemd
import Hub

/// The vessel's name in Signal K: its MMSI, as in `vessels.urn:mrn:imo:mmsi:244123456`, or a UUID of this machine.
enum SignalKVessel {
  static func context(mmsi: String?) -> String {
    "vessels." + (mmsi.map { "urn:mrn:imo:mmsi:\($0)" } ?? "urn:mrn:signalk:uuid:\(uuid)")
  }

  /// The UUID. It is constant until the system is installed again. If the machine has no ID, it is constant while the
  /// hub runs.
  private static let uuid: String = {
    var bytes = [UInt8](repeating: 0, count: 16)
    if csystemd_hub_identity(&bytes) != 0 { bytes = bytes.map { _ in UInt8.random(in: .min ... .max) } }
    return text(of: bytes)
  }()

  /// The bytes as a UUID of version 4 (RFC 9562, section 5.4), which the specification requires.
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
