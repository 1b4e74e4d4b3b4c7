import HardwareIO
import MonotonicTime

/// Reads scans of a device, and takes one or two vectors in right-handed axes from each.
final class IIOVectorStream {
  /// A sample in IIO's units.
  struct Sample {
    var at: MonotonicInstant
    var first: SIMD3<Float>
    /// The second vector; equal to the first if there is only one.
    var second: SIMD3<Float>
    /// Whether scans are missing before this one.
    var followsGap: Bool
  }

  /// The number of scans that the kernel keeps. They cover a quarter of a second of a fast chip.
  private static let length = 256
  /// The number of batches a second from a chip that has its own FIFO.
  private static let batchesPerSecond = 50.0

  /// The counts of overflows and misreads; `samples` stays 0.
  private(set) var losses = InertialCounters()
  /// The die's temperature, if the scans contain it.
  private(set) var temperatureCelsius: Float?

  private let buffer: IIOBuffer
  private let axes: [IIOAxes]
  /// The index of the first channel of an acceleration or a field, which is never zero: gravity and the Earth's field
  /// never vanish. `nil` if the scans contain only angular rates.
  private let firstOfField: Int?
  private let temperature: Int?
  private let lag: Duration
  private var timeline: IIOTimeline

  /// - Parameters:
  ///   - quantities: one or two quantities, for example `in_anglvel`
  ///   - rateHz: the rate of the scans
  ///   - lag: the age of the chip's measurement at its scan
  init(
    _ device: IIODevice, _ quantities: [String], rateHz: Double, lag: Duration, timer: IIOTimerTrigger?
  ) throws(HardwareError) {
    var axes: [IIOAxes] = []
    var channels: [IIOChannel] = []
    for quantity in quantities {
      axes.append(try IIOAxes(device, quantity))
      for axis in ["x", "y", "z"] {
        guard let channel = try device.channel("\(quantity)_\(axis)") else {
          throw .unsupported("\(device) has no \(quantity)_\(axis) in its scans")
        }
        channels.append(channel)
      }
    }
    self.axes = axes
    firstOfField = quantities.firstIndex { $0 != "in_anglvel" }.map { 3 * $0 }
    if let channel = try device.channel("in_temp") {
      temperature = channels.count
      channels.append(channel)
    } else {
      temperature = nil
    }
    self.lag = lag
    timeline = IIOTimeline(rateHz: rateHz)
    buffer = try IIOBuffer(
      device, channels: channels, length: IIOVectorStream.length,
      watermark: max(1, Int(rateHz / IIOVectorStream.batchesPerSecond)), timer: timer)
  }

  /// Takes the waiting scans, oldest first, and skips invalid scans.
  func read(atMost limit: Int, _ take: (Sample) -> Void) throws(HardwareError) {
    try buffer.read(atMost: limit) { scan in
      if let firstOfField, isDead(scan, firstOfField) {
        losses.misreads += 1
        return
      }
      let place = timeline.place(scan.at)
      switch place {
      case .next: break
      case .behindGap: losses.overflows += 1
      case .outOfOrder:
        losses.misreads += 1
        return
      }
      if let temperature { temperatureCelsius = Float(buffer.layout.value(temperature, of: scan) / 1000) }
      let at = scan.at.advanced(by: Duration.zero - lag)
      let first = vector(0, of: scan)
      let second = axes.count > 1 ? vector(1, of: scan) : first
      take(Sample(at: at, first: first, second: second, followsGap: place == .behindGap))
    }
  }

  /// Stops the scans. Ignores errors, which mean that the device no longer exists.
  func close() { buffer.close() }

  private func vector(_ index: Int, of scan: IIOScan) -> SIMD3<Float> {
    SIMD3<Float>(axes[index].turn(buffer.layout.vector(3 * index, of: scan)))
  }

  /// Whether a scan comes from a hung bus, which returns all zeros or all ones.
  private func isDead(_ scan: IIOScan, _ first: Int) -> Bool {
    let (x, y, z) = (scan[first], scan[first + 1], scan[first + 2])
    return x == y && y == z && (x == 0 || x == -1)
  }
}
