/// A value that is read one at a time, and measured anew by each read: for sensors without a buffer.
public struct IIOValue: Sendable {
  /// The conversion of the number in the file; none if the kernel converts it itself.
  public let conversion: IIOConversion
  private let files: any IIOFiles
  private let path: String

  /// `nil` where the device has no such channel.
  ///
  /// - Parameter channel: `in_pressure`
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

  /// The number in the file. Waits for the chip, some milliseconds with most.
  public func raw() throws(HardwareError) -> Double { try files.number(path) }

  /// In IIO's units.
  public func read() throws(HardwareError) -> Double { conversion.value(try raw()) }
}

extension IIODevice {
  /// Whether it has a channel, in its scans or one value at a time.
  public func measures(_ channel: String) -> Bool {
    scans(channel) || ["raw", "input"].contains { system.files.has(path(of: "\(channel)_\($0)")) }
  }
}
