extension IIODevice {
  /// Returns the path of a channel's attribute in sysfs, or `nil` if there is none. The attribute may apply to that
  /// channel alone, to all channels of its type, to all inputs or to the whole device.
  ///
  /// - Parameters:
  ///   - name: the attribute, for example `scale`
  ///   - channel: the channel. For `in_accel_x`, the call tries `in_accel_x_scale`, `in_accel_scale`, `in_scale` and
  ///     `scale`
  public func attribute(_ name: String, of channel: String) -> String? {
    var stem = channel[...]
    while !stem.isEmpty {
      let candidate = path(of: "\(stem)_\(name)")
      if system.files.has(candidate) { return candidate }
      if let last = stem.lastIndex(of: "_") { stem = stem[..<last] } else { stem = "" }
    }
    let candidate = path(of: name)
    return system.files.has(candidate) ? candidate : nil
  }

  /// Reads a numeric attribute of a channel from sysfs, or returns `nil` if it does not exist.
  public func number(_ name: String, of channel: String) throws(HardwareError) -> Double? {
    guard let path = attribute(name, of: channel) else { return nil }
    return try system.files.number(path)
  }

  /// Returns the possible values of a channel's attribute, or `nil` if sysfs does not list them.
  public func choices(_ name: String, of channel: String) throws(HardwareError) -> IIOChoices? {
    guard let path = attribute("\(name)_available", of: channel) else { return nil }
    return IIOChoices(try system.files.text(path))
  }

  /// Returns the mounting of the chip from the device tree. Without an entry, the axes are the axes of the data sheet.
  public func mountMatrix(of channel: String) throws(HardwareError) -> IIOMountMatrix {
    guard let path = attribute("mount_matrix", of: channel) else { return .identity }
    let text = try system.files.text(path)
    guard let matrix = IIOMountMatrix(text) else {
      throw .unsupported(
        "'\(text)' in \(path) is not a rotation or reflection: correct mount-matrix in the device tree")
    }
    return matrix
  }
}

extension IIOFiles {
  /// Reads a number from a file.
  func number(_ path: String) throws(HardwareError) -> Double {
    let written = try text(path)
    guard let number = Double(written), number.isFinite else {
      throw .unexpectedDevice("'\(written)' in \(path) is not a number")
    }
    return number
  }
}
