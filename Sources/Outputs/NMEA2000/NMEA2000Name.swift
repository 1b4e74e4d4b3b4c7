import CSystemd

/// The identity of a device on the bus. Of two devices that claim one address, the one with the lower number wins (ISO
/// 11783-5).
struct NMEA2000Name: Equatable, Sendable {
  /// The number as sent in an address claim.
  var value: UInt64

  init(value: UInt64) { self.value = value }

  /// The name of a hub.
  ///
  /// - Parameter unique: 21 bits that distinguish this hub from others
  init(unique: UInt32) {
    // NMEA issues the codes of manufacturers to its customers. This project has none, and sends the code that the free
    // libraries send.
    let manufacturer: UInt64 = 2046
    // The function is "ownship position (GNSS)" in the class "navigation", and the industry is marine. The address can
    // change.
    let (function, deviceClass, industry, canChange): (UInt64, UInt64, UInt64, UInt64) = (145, 60, 4, 1)
    let device = function << 40 | deviceClass << 49 | industry << 60 | canChange << 63
    value = UInt64(unique & 0x1F_FFFF) | manufacturer << 21 | device
  }

  var unique: UInt32 { UInt32(value & 0x1F_FFFF) }

  /// The name of this machine's hub. It is constant until the system is installed again, or, if the machine has no ID,
  /// while the hub runs.
  static let own: NMEA2000Name = {
    var bytes = [UInt8](repeating: 0, count: 16)
    if csystemd_hub_identity(&bytes) != 0 { bytes = bytes.map { _ in UInt8.random(in: .min ... .max) } }
    return NMEA2000Name(unique: UInt32(bytes[0]) << 16 | UInt32(bytes[1]) << 8 | UInt32(bytes[2]))
  }()
}
