extension MachineFiles {
  /// Returns the clock rate of an I2C bus according to the device tree, or `nil` if it is not stated there.
  ///
  /// - Parameter bus: `/dev/i2c-1`, or a link to it
  public func hertz(ofI2CBus bus: String) -> Double? {
    guard let name = (resolved(bus) ?? bus).split(separator: "/").last, name.hasPrefix("i2c-"),
      // The property is a cell of the device tree: four bytes, the most significant first.
      let cell = bytes(of: "/sys/bus/i2c/devices/\(name)/of_node/clock-frequency"), cell.count == 4
    else { return nil }
    let hertz = cell.reduce(0) { $0 << 8 | Int($1) }
    return hertz > 0 ? Double(hertz) : nil
  }
}
