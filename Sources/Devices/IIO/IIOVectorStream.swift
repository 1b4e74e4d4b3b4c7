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
  /// The index of the first channel of an acceleration or a magnetic field. Because of gravity and the Earth's field,
  /// these vectors are never zero, so a zero vector shows that the bus hangs. The value is `nil` if the scans contain
  /// only angular rates.
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

  /// Reads the waiting scans, oldest first, and skips invalid scans.
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

/// Converts the kernel's measurements of a chip to right-handed axes: the chip's own axes, or the axes of the device
/// tree's mount matrix.
struct IIOAxes {
  /// The kernel drivers of chips with left-handed axes that report these axes unchanged.
  private static let leftHanded: Set<String> = ["lis2mdl", "lsm9ds1-imu_accel", "lsm9ds1-imu_gyro"]

  private let matrix: IIOMountMatrix
  private let invertsZ: Bool

  /// - Parameter quantity: the quantity in the kernel's names, for example `in_accel`
  /// - Throws: `.unsupported` if the mount matrix makes the axes left-handed
  init(_ device: IIODevice, _ quantity: String) throws(HardwareError) {
    matrix = try device.mountMatrix(of: "\(quantity)_x")
    let isLeftHanded = IIOAxes.leftHanded.contains(device.name)
    // If the mount matrix in the device tree mirrors the axes, it has already made them right-handed.
    invertsZ = isLeftHanded && !matrix.mirrors
    if matrix.mirrors, !isLeftHanded {
      throw .unsupported(
        "the axes of \(device) are left-handed, because its mount-matrix in the device tree mirrors them")
    }
  }

  func turn(_ vector: SIMD3<Double>) -> SIMD3<Double> {
    matrix.apply(SIMD3(vector.x, vector.y, invertsZ ? -vector.z : vector.z))
  }
}

/// Detects lost scans from the times of the scans in a buffer. The kernel does not report the scans that it drops when
/// the buffer is full.
struct IIOTimeline {
  enum Order {
    case next
    /// At least two scans are missing before this one. A gap of a single scan is ignored, because the timer may be
    /// late.
    case behindGap
    /// The scan is not later than the previous one.
    case outOfOrder
  }

  private let longestStep: Int64
  private var last: Int64?

  init(rateHz: Double) { longestStep = Int64(2.5e9 / min(max(rateHz, 0.001), 1e6)) }

  mutating func place(_ at: MonotonicInstant) -> Order {
    guard let before = last else {
      last = at.nanoseconds
      return .next
    }
    guard at.nanoseconds > before else { return .outOfOrder }
    last = at.nanoseconds
    return at.nanoseconds - before > longestStep ? .behindGap : .next
  }
}

/// Detects a chip that repeats one value forever. Up to 30 repetitions are normal, because the kernel may round values
/// so coarsely that successive measurements are equal.
struct IIORepetition<Value: Equatable> {
  private static var most: Int { 30 }

  private var last: Value?
  private var repeats = 0

  mutating func isFresh(_ value: Value) -> Bool {
    repeats = value == last ? repeats + 1 : 0
    last = value
    return repeats <= IIORepetition.most
  }
}
