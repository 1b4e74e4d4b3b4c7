/// Finds I2C buses by the names that the kernel gives them.
extension MachineFiles {
  /// The I2C buses that programs may use, in order of their numbers: `/dev/i2c-1`.
  ///
  /// Only names of the kernel's form count, because another name with this prefix may be another kind of file.
  public var i2cBuses: [String] {
    names(in: "/dev").compactMap(MachineFiles.number(ofI2CBus:)).sorted().map { "/dev/i2c-\($0)" }
  }

  /// Returns the number in a name like `/dev/i2c-1`, or `nil` for other names.
  public static func number(ofI2CBus path: String) -> Int? {
    guard let name = path.split(separator: "/").last, name.hasPrefix("i2c-") else { return nil }
    let digits = name.dropFirst("i2c-".count)
    return digits.allSatisfy { "0"..."9" ~= $0 } ? Int(digits) : nil
  }
}
