/// The meaning of a raw number: the offset is added, then it is multiplied by the scale. The result is in IIO's units,
/// which are m/s², rad/s, gauss, kPa and thousandths of a degree Celsius and of a percent.
public struct IIOConversion: Equatable, Sendable {
  public let scale: Double
  public let offset: Double

  public init(scale: Double = 1, offset: Double = 0) {
    self.scale = scale
    self.offset = offset
  }

  /// As stated in sysfs; a missing value changes nothing.
  init(_ device: IIODevice, channel: String) throws(HardwareError) {
    scale = try device.number("scale", of: channel) ?? 1
    offset = try device.number("offset", of: channel) ?? 0
  }

  public func value(_ raw: Double) -> Double { (raw + offset) * scale }
}

/// One of the numbers that a scan can have.
public struct IIOChannel: Equatable, Sendable {
  /// `in_accel_x`
  public let name: String
  /// The numbers of a scan follow each other in this order.
  public let index: Int
  public let type: IIOElementType
  public let conversion: IIOConversion

  public init(name: String, index: Int, type: IIOElementType, conversion: IIOConversion = IIOConversion()) {
    self.name = name
    self.index = index
    self.type = type
    self.conversion = conversion
  }
}

extension IIODevice {
  /// Where sysfs has what of a scan can be chosen.
  var elements: String { path(of: "scan_elements") }

  /// Whether a channel can be in a scan.
  public func scans(_ channel: String) -> Bool { system.files.has("\(elements)/\(channel)_en") }

  /// A channel as it is in a scan now: scales change with ranges. `nil` where it cannot be in one.
  public func channel(_ name: String) throws(HardwareError) -> IIOChannel? {
    guard scans(name) else { return nil }
    let path = "\(elements)/\(name)_index"
    guard let index = Int(try system.files.text(path)) else {
      throw .unexpectedDevice("there is no whole number in \(path)")
    }
    return IIOChannel(
      name: name, index: index, type: try IIOElementType(try system.files.text("\(elements)/\(name)_type")),
      conversion: try IIOConversion(self, channel: name))
  }
}
