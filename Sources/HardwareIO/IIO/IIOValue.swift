/// A value of a sensor without a buffer. Each read starts a new measurement.
public struct IIOValue: Sendable {
  /// The conversion of the number in the file. It changes nothing if the kernel converts the number itself.
  public let conversion: IIOConversion
  private let files: any IIOFiles
  private let path: String

  /// Returns `nil` if the device has no such channel.
  ///
  /// - Parameter channel: the name of the channel, for example `in_pressure`
  public init?(_ device: IIODevice, channel: String) throws(HardwareError) {
    files = device.system.files
    let (converted, raw) = (device.path(of: "\(channel)_input"), device.path(of: "\(channel)_raw"))
    if files.has(converted) {
      path = converted
      conversion = IIOConversion()
    } else if files.has(raw) {
      path = raw
      conversion = try IIOConversion(device, channel: channel)
    } else {
      return nil
    }
  }

  /// Reads the number in the file. With most chips this blocks for several milliseconds.
  public func raw() throws(HardwareError) -> Double { try files.number(path) }

  /// Reads the value in IIO's units.
  public func read() throws(HardwareError) -> Double { conversion.value(try raw()) }
}

extension IIODevice {
  /// Whether the device measures a channel, either in scans or one value at a time.
  public func measures(_ channel: String) -> Bool {
    scans(channel) || ["raw", "input"].contains { system.files.has(path(of: "\(channel)_\($0)")) }
  }
}
