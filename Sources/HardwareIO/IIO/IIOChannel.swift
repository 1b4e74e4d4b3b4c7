/// Converts a raw number: the offset is added, and the sum is multiplied by the scale. The result is in IIO's units,
/// which are m/s², rad/s, gauss, kPa, and thousandths of a degree Celsius and of a percent.
public struct IIOConversion: Equatable, Sendable {
  public let scale: Double
  public let offset: Double

  public init(scale: Double = 1, offset: Double = 0) {
    self.scale = scale
    self.offset = offset
  }

  /// Reads the offset and scale from sysfs. A missing file stands for an offset of 0 or a scale of 1.
  init(_ device: IIODevice, channel: String) throws(HardwareError) {
    scale = try device.number("scale", of: channel) ?? 1
    offset = try device.number("offset", of: channel) ?? 0
  }

  public func value(_ raw: Double) -> Double { (raw + offset) * scale }
}

/// A channel of a device, which provides one of the numbers in a scan.
public struct IIOChannel: Equatable, Sendable {
  /// The name of the channel, for example `in_accel_x`.
  public let name: String
  /// The position of the channel's number among the numbers of a scan. Numbers are in ascending order of this index.
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
  /// The sysfs folder with the settings for scans.
  var elements: String { path(of: "scan_elements") }

  /// Whether scans can include a channel.
  public func scans(_ channel: String) -> Bool { system.files.has("\(elements)/\(channel)_en") }

  /// Returns a channel with its current scale, which depends on the range. Returns `nil` if scans cannot include the
  /// channel.
  public func channel(_ name: String) throws(HardwareError) -> IIOChannel? {
    guard scans(name) else { return nil }
    let path = "\(elements)/\(name)_index"
    guard let index = Int(try system.files.text(path)) else {
      throw .unexpectedDevice("\(path) does not contain a whole number")
    }
    return IIOChannel(
      name: name, index: index, type: try IIOElementType(try system.files.text("\(elements)/\(name)_type")),
      conversion: try IIOConversion(self, channel: name))
  }
}
