/// A sensor that a kernel driver controls: a chip, or one part of a chip.
public struct IIODevice: Sendable {
  public let system: IIOSystem
  /// The number N in `iio:deviceN`. It may differ after each boot.
  public let number: Int
  /// The name that the driver gives, for example `mpu6050`.
  public let name: String
  /// The label in the device tree, if there is one.
  public let label: String?
  /// The path of the device's folder in sysfs.
  public let folder: String
  /// The path of the chip's own folder after following all links.
  public let parent: String?

  /// The chip's address on its I2C bus; `nil` if the chip is on another kind of bus.
  public var address: UInt8? {
    // The folder's name consists of bus and address, for example `1-006a`.
    guard let parent, let chip = parent.split(separator: "/").last else { return nil }
    let parts = chip.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, Int(parts[0]) != nil, parts[1].utf8.count == 4 else { return nil }
    return UInt16(parts[1], radix: 16).flatMap { UInt8(exactly: $0) }
  }

  /// The path of the device file that provides the scans.
  var node: String { "\(system.nodes)/iio:device\(number)" }

  func path(of file: String) -> String { "\(folder)/\(file)" }
}

extension IIODevice: CustomStringConvertible {
  /// A description such as `IIO device 'mpu6050' at 0x68`.
  public var description: String { "IIO device \(IIODeviceName(name, label: label, address: address))" }
}

extension IIODevice {
  /// Returns all IIO devices that the kernel has.
  public static func all(in system: IIOSystem) -> [IIODevice] {
    system.entries("iio:device").map { number, folder in
      IIODevice(
        system: system, number: number, name: (try? system.files.text("\(folder)/name")) ?? "",
        label: try? system.files.text("\(folder)/label"), folder: folder, parent: system.parent(of: folder))
    }
  }

  /// Returns the only device that matches.
  ///
  /// - Throws: if no device or more than one matches; the message lists the existing devices
  public static func find(_ wanted: IIODeviceName, in system: IIOSystem) throws(HardwareError) -> IIODevice {
    let all = IIODevice.all(in: system)
    let found = all.filter { $0.answers(to: wanted) }
    guard let device = found.first else {
      let others = all.isEmpty ? "the kernel has no IIO device" : "the kernel has \(list(all))"
      throw .notFound("IIO device \(wanted): \(others)")
    }
    guard found.count == 1 else {
      throw .unexpectedDevice("\(wanted) matches several devices, \(list(found)): choose one by its address or label")
    }
    return device
  }

  private func answers(to wanted: IIODeviceName) -> Bool {
    if wanted.name != name { return false }
    if let label = wanted.label, label != self.label { return false }
    if let address = wanted.address, address != self.address { return false }
    guard let parent = wanted.parent else { return true }
    return self.parent != nil && system.files.resolved(parent) == self.parent
  }

  private static func list(_ devices: [IIODevice]) -> String {
    devices.map { "\(IIODeviceName($0.name, label: $0.label, address: $0.address))" }.joined(separator: ", ")
  }
}

/// The conditions by which a board file identifies one IIO device.
public struct IIODeviceName: Hashable, Sendable {
  /// The name that the driver gives, for example `lsm6dsox_gyro`.
  public var name: String
  /// The label in the device tree, needed if several devices have the same name.
  public var label: String?
  /// The chip's 7-bit address on its I2C bus, needed if several devices have the same name.
  public var address: UInt8?
  /// The chip's folder in sysfs, needed if several devices have the same name: `/sys/bus/i2c/devices/1-006a`.
  public var parent: String?

  public init(_ name: String, label: String? = nil, address: UInt8? = nil, parent: String? = nil) {
    self.name = name
    self.label = label
    self.address = address
    self.parent = parent
  }
}

extension IIODeviceName: CustomStringConvertible {
  /// A description such as `'mpu6050' at 0x68`.
  public var description: String {
    "'\(name)'" + (label.map { " labelled '\($0)'" } ?? "") + (address.map { " at 0x" + String($0, radix: 16) } ?? "")
      + (parent.map { " of \($0)" } ?? "")
  }
}

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

/// The mounting of a chip as stated in the device tree's `mount-matrix`. It rotates measurements into the axes of the
/// board, and mirrors them if the chip's axes are left-handed.
public struct IIOMountMatrix: Equatable, Sendable {
  private let first: SIMD3<Double>
  private let second: SIMD3<Double>
  private let third: SIMD3<Double>

  public static let identity = IIOMountMatrix(SIMD3(1, 0, 0), SIMD3(0, 1, 0), SIMD3(0, 0, 1))

  private init(_ first: SIMD3<Double>, _ second: SIMD3<Double>, _ third: SIMD3<Double>) {
    self.first = first
    self.second = second
    self.third = third
  }

  /// - Parameter text: the matrix row by row, as in `1, 0, 0; 0, 1, 0; 0, 0, 1`. The result is `nil` if the text has
  ///   another form, or if the matrix does more than rotate and mirror
  public init?(_ text: String) {
    var rows: [SIMD3<Double>] = []
    for row in text.split(separator: ";", omittingEmptySubsequences: false) {
      var numbers: [Double] = []
      for word in row.split(separator: ",", omittingEmptySubsequences: false) {
        guard let number = Double(word.filter { $0 != " " }) else { return nil }
        numbers.append(number)
      }
      guard numbers.count == 3 else { return nil }
      rows.append(SIMD3(numbers[0], numbers[1], numbers[2]))
    }
    guard rows.count == 3 else { return nil }
    self.init(rows[0], rows[1], rows[2])
    func isNear(_ a: Double, _ b: Double) -> Bool { abs(a - b) < 0.02 }
    guard rows.allSatisfy({ isNear(($0 * $0).sum(), 1) }), isNear((first * second).sum(), 0),
      isNear((second * third).sum(), 0), isNear((third * first).sum(), 0)
    else { return nil }
  }

  /// Whether the matrix mirrors, so that it converts between left-handed and right-handed axes.
  public var mirrors: Bool {
    let normal = SIMD3(
      first.y * second.z - first.z * second.y, first.z * second.x - first.x * second.z,
      first.x * second.y - first.y * second.x)
    return (normal * third).sum() < 0
  }

  public func apply(_ vector: SIMD3<Double>) -> SIMD3<Double> {
    SIMD3((first * vector).sum(), (second * vector).sum(), (third * vector).sum())
  }
}
