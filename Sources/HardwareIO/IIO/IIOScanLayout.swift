import MonotonicTime

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
