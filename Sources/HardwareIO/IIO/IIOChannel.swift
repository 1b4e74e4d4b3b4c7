import MonotonicTime

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

/// The layout of one element of a scan in memory, as stated in `scan_elements/…_type`. For example, `le:s24/32>>8` is a
/// signed 24-bit number in the upper three of four bytes, least significant byte first.
public struct IIOElementType: Equatable, Sendable {
  public let isBigEndian: Bool
  public let isSigned: Bool
  /// The number of significant bits.
  public let bitCount: Int
  /// The number of bits that the element occupies: 8, 16, 32 or 64. An element begins at a multiple of its own size.
  public let storageBitCount: Int
  /// The number of unused bits below the number.
  public let shift: Int

  public var storageByteCount: Int { storageBitCount / 8 }

  /// - Throws: if the text is not a valid type, or has an unsupported kind: repeated elements (`X`) or floating point
  ///   (`f`)
  public init(_ text: String) throws(HardwareError) {
    guard let type = IIOElementType(parsing: text) else {
      throw .unsupported("a scan with an element of the type '\(text)' cannot be read")
    }
    self = type
  }

  private init?(parsing text: String) {
    var rest = Array(text.utf8)[...]
    func take(_ word: String) -> Bool {
      guard rest.starts(with: word.utf8) else { return false }
      rest = rest.dropFirst(word.utf8.count)
      return true
    }
    func takeNumber() -> Int? {
      let digits = rest.prefix { (0x30...0x39).contains($0) }
      // No bit count is above 64, so two digits suffice.
      guard (1...2).contains(digits.count) else { return nil }
      rest = rest.dropFirst(digits.count)
      return digits.reduce(0) { 10 * $0 + Int($1) - 0x30 }
    }
    let isBigEndian = take("be:")
    guard isBigEndian || take("le:") else { return nil }
    let isSigned = take("s")
    guard isSigned || take("u") else { return nil }
    guard let bitCount = takeNumber(), take("/"), let storageBitCount = takeNumber() else { return nil }
    var shift = 0
    if take(">>") {
      guard let number = takeNumber() else { return nil }
      shift = number
    }
    guard rest.isEmpty, [8, 16, 32, 64].contains(storageBitCount), bitCount > 0, bitCount + shift <= storageBitCount
    else { return nil }
    self.isBigEndian = isBigEndian
    self.isSigned = isSigned
    self.bitCount = bitCount
    self.storageBitCount = storageBitCount
    self.shift = shift
  }

  /// Decodes the number at an offset. An unsigned 64-bit number is returned with the same bits.
  func decode(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int64 {
    let word: UInt64
    switch storageBitCount {
    case 8: word = UInt64(bytes[offset])
    case 16:
      let stored = bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self)
      word = UInt64(isBigEndian ? UInt16(bigEndian: stored) : UInt16(littleEndian: stored))
    case 32:
      let stored = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
      word = UInt64(isBigEndian ? UInt32(bigEndian: stored) : UInt32(littleEndian: stored))
    default:
      let stored = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      word = isBigEndian ? UInt64(bigEndian: stored) : UInt64(littleEndian: stored)
    }
    // The first shift removes the bits above the number, and the second one the bits below it.
    let top = word << (64 - bitCount - shift)
    return isSigned ? Int64(bitPattern: top) >> (64 - bitCount) : Int64(bitPattern: top >> (64 - bitCount))
  }
}

/// The positions of some channels' numbers in a scan. The time stamp is the last number.
public struct IIOScanLayout: Sendable {
  private struct Element {
    var type: IIOElementType
    var offset: Int
    var conversion: IIOConversion
  }

  public let channelCount: Int
  /// The distance from the beginning of a scan to the beginning of the next scan, in bytes.
  public let byteCount: Int
  /// The elements of the channels, in the order in which the channels were given.
  private let elements: InlineArray<16, Element>
  private let time: Element

  /// - Parameters:
  ///   - channels: the channels to decode, in any order; at most `IIOScan.capacity`
  ///   - timestamp: the channel `in_timestamp`
  public init(_ channels: [IIOChannel], timestamp: IIOChannel) throws(HardwareError) {
    guard channels.count <= IIOScan.capacity else {
      throw .unsupported("a scan of \(channels.count) channels cannot be read")
    }
    var end = 0
    var largest = 1
    func place(_ channel: IIOChannel) -> Element {
      let size = channel.type.storageByteCount
      let offset = (end + size - 1) / size * size
      end = offset + size
      largest = max(largest, size)
      return Element(type: channel.type, offset: offset, conversion: channel.conversion)
    }
    var elements = InlineArray<16, Element>(
      repeating: Element(type: timestamp.type, offset: 0, conversion: timestamp.conversion))
    for index in channels.indices.sorted(by: { channels[$0].index < channels[$1].index }) {
      elements[index] = place(channels[index])
    }
    // The kernel puts the time stamp last, whatever its index.
    time = place(timestamp)
    self.elements = elements
    channelCount = channels.count
    byteCount = (end + largest - 1) / largest * largest
  }

  /// Decodes one scan.
  ///
  /// - Precondition: `bytes` has at least `byteCount` bytes.
  public func decode(_ bytes: UnsafeRawBufferPointer) -> IIOScan {
    precondition(bytes.count >= byteCount)
    var scan = IIOScan(at: MonotonicInstant(nanoseconds: time.type.decode(bytes, at: time.offset)))
    for index in 0..<channelCount {
      scan.numbers[index] = elements[index].type.decode(bytes, at: elements[index].offset)
    }
    return scan
  }

  /// Returns the value of a channel, in IIO's units.
  ///
  /// - Parameter index: the position of the channel in the order given at initialization
  public func value(_ index: Int, of scan: IIOScan) -> Double {
    precondition(index < channelCount)
    return elements[index].conversion.value(Double(scan[index]))
  }

  /// Returns the values of three consecutive channels.
  public func vector(_ first: Int, of scan: IIOScan) -> SIMD3<Double> {
    SIMD3(value(first, of: scan), value(first + 1, of: scan), value(first + 2, of: scan))
  }
}

/// The measurements of a sensor at one time. The value has no heap storage, so a stream of scans allocates nothing.
public struct IIOScan: Sendable {
  public static let capacity = 16

  /// When the scan was taken, as stamped by the kernel.
  public let at: MonotonicInstant
  fileprivate var numbers = InlineArray<16, Int64>(repeating: 0)

  fileprivate init(at: MonotonicInstant) { self.at = at }

  /// The raw number of a channel, by its position in the order given at initialization.
  public subscript(index: Int) -> Int64 { numbers[index] }
}

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
