extension IIODevice {
  /// The path of an attribute of a channel in sysfs: for that channel alone, for all of its type, for all inputs, or
  /// for the whole device.
  ///
  /// - Parameters:
  ///   - name: `scale`
  ///   - channel: `in_accel_x`, for example: then `in_accel_x_scale`, `in_accel_scale`, `in_scale` and `scale` are
  ///     tried
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

  /// The number that sysfs says of a channel; `nil` where it says none.
  public func number(_ name: String, of channel: String) throws(HardwareError) -> Double? {
    guard let path = attribute(name, of: channel) else { return nil }
    return try system.files.number(path)
  }

  /// The possible values of a channel's attribute; `nil` if sysfs does not list them.
  public func choices(_ name: String, of channel: String) throws(HardwareError) -> IIOChoices? {
    guard let path = attribute("\(name)_available", of: channel) else { return nil }
    return IIOChoices(try system.files.text(path))
  }

  /// The mounting of the chip from the device tree; as drawn in its data sheet by default.
  public func mountMatrix(of channel: String) throws(HardwareError) -> IIOMountMatrix {
    guard let path = attribute("mount_matrix", of: channel) else { return .identity }
    let text = try system.files.text(path)
    guard let matrix = IIOMountMatrix(text) else {
      throw .unsupported("'\(text)' in \(path) neither turns nor mirrors: mend mount-matrix in the device tree")
    }
    return matrix
  }
}

extension IIOFiles {
  /// The number in a file.
  func number(_ path: String) throws(HardwareError) -> Double {
    let written = try text(path)
    guard let number = Double(written), number.isFinite else {
      throw .unexpectedDevice("'\(written)' in \(path) is no number")
    }
    return number
  }
}
