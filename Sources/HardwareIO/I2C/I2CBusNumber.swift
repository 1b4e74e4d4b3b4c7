/// I2C buses by the names that the kernel gives them.
extension MachineFiles {
  /// The I2C buses that programs may use, in order of their numbers: `/dev/i2c-1`.
  ///
  /// By the kernel's own names alone: what else begins like one may be anything.
  public var i2cBuses: [String] {
    names(in: "/dev").compactMap(MachineFiles.number(ofI2CBus:)).sorted().map { "/dev/i2c-\($0)" }
  }

  /// The number in `/dev/i2c-1`; `nil` for a name that somebody else has given.
  public static func number(ofI2CBus path: String) -> Int? {
    guard let name = path.split(separator: "/").last, name.hasPrefix("i2c-") else { return nil }
    let digits = name.dropFirst("i2c-".count)
    return digits.allSatisfy { "0"..."9" ~= $0 } ? Int(digits) : nil
  }
}
