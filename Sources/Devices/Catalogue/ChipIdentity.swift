import HardwareIO

/// How a chip identifies itself.
public struct ChipIdentity: Sendable {
  /// The maximum number of bytes in an identity.
  static let longest = 4

  /// The first identity register.
  public var register: UInt8
  /// The accepted values of the identity registers, including the values of clones. Empty for a chip without identity
  /// registers, which `test` identifies.
  public var values: [[UInt8]]
  private let test: Test?
  /// The property by which a chip without identity registers is recognised, as messages name it, for example `its
  /// checksum`; `nil` for other chips.
  public let toldBy: String?

  /// The check for a chip without identity registers.
  private struct Test: Sendable {
    let isPassed: @Sendable (I2CRegisters) throws(HardwareError) -> Bool
  }

  init(register: UInt8, values: [UInt8]) { self.init(register: register, sequences: values.map { [$0] }) }

  /// - Parameter sequences: the values, all of the same length, at most `longest`
  init(register: UInt8, sequences: [[UInt8]]) {
    self.register = register
    values = sequences
    test = nil
    toldBy = nil
  }

  /// - Parameters:
  ///   - register: the first register to read
  ///   - toldBy: the property by which the chip is recognised, as messages name it, for example `its checksum`
  ///   - test: the check, which only reads
  init(register: UInt8, toldBy: String, test: @escaping @Sendable (I2CRegisters) throws(HardwareError) -> Bool) {
    self.register = register
    values = []
    self.toldBy = toldBy
    self.test = Test(isPassed: test)
  }

  /// Whether the chip has this identity.
  ///
  /// - Parameters:
  ///   - registers: the chip's registers, with room for `longest` bytes
  ///   - relatives: other accepted values of the first register
  func isTrue(of registers: I2CRegisters, alsoTaking relatives: [UInt8] = []) throws(HardwareError) -> Bool {
    if let test { return try test.isPassed(registers) }
    guard let count = values.first?.count else { return false }
    let bytes = try registers.read(register, count: count)
    return values.contains { $0.elementsEqual(bytes) } || relatives.contains(bytes[0])
  }

  /// Throws `.unexpectedDevice` unless the chip has this identity.
  ///
  /// - Parameter title: the title of the expected chip
  func require(_ title: String, of registers: I2CRegisters) throws(HardwareError) {
    let place = "the chip at 0x\(String(registers.address, radix: 16)) on \(registers.bus.name)"
    if let test {
      guard try test.isPassed(registers) else {
        throw .unexpectedDevice("\(place) is not \(ChipIdentity.withArticle(title))")
      }
      return
    }
    let bytes = Array(try registers.read(register, count: values.first?.count ?? 1))
    guard !values.contains(bytes) else { return }
    throw .unexpectedDevice(
      "\(place) identifies itself as \(ChipIdentity.text(bytes)), which is not \(ChipIdentity.withArticle(title)) "
        + "(\(values.map(ChipIdentity.text).joined(separator: ", ")))")
  }

  /// A chip's title with its article, for example `a BNO055` or `an INA219`. The article depends on the pronunciation:
  /// people spell part numbers letter by letter, except for "LIS3MDL".
  static func withArticle(_ title: String) -> String {
    guard let first = title.first else { return title }
    let startsWithVowel = "AEFHILMNORSXaeiou".contains(first) && !title.hasPrefix("LIS")
    return (startsWithVowel ? "an " : "a ") + title
  }

  /// A text such as `0x48 0x34`.
  private static func text(_ bytes: [UInt8]) -> String {
    bytes.map { "0x" + String($0, radix: 16) }.joined(separator: " ")
  }
}
