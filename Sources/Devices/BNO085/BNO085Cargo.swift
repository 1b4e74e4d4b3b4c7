import MonotonicTime

/// Reads the reports in a cargo (the payload of an SHTP packet) of input reports, in order, each with its time.
struct BNO085Cargo {
  struct Report {
    /// The report's ID: `BNO085Report.flushCompleted`, or a sensor's.
    var id: UInt8
    var sequence: UInt8 = 0
    /// The time relative to the interrupt, mostly negative, in units of 100 microseconds.
    var ticks = 0
    /// The axes in the report's own units.
    var axes = SIMD3<Float>.zero
  }

  /// The greatest plausible time, ten seconds. A greater time comes from garbled bytes.
  private static let longestTicks = 100_000

  /// Whether all reports so far were valid.
  private(set) var isWhole = true
  private let bytes: UnsafeRawBufferPointer
  private var offset = 0
  /// The base of the delays, in units of 100 microseconds relative to the interrupt. The cargo must state a base
  /// before the first report of a sensor.
  private var base: Int?

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// The next report; `nil` at the end, or at the first invalid report, which clears `isWhole`.
  mutating func next() -> Report? {
    while offset < bytes.count {
      let start = offset
      let id = bytes[start]
      guard let length = BNO085Report.length(of: id), start + length <= bytes.count else { return stop() }
      offset += length
      switch id {
      case BNO085Report.timebase: base = -ticks(at: start + 1)
      case BNO085Report.rebase:
        guard let base else { return stop() }
        self.base = base + ticks(at: start + 1)
      case BNO085Report.flushCompleted: return Report(id: id)
      case 0x80...: return stop()
      default:
        guard let base else { return stop() }
        let upper = Int(bytes[start + BNO085Report.statusOffset] >> 2)
        let ticks = base + upper << 8 + Int(bytes[start + BNO085Report.delayOffset])
        guard abs(ticks) <= BNO085Cargo.longestTicks else { return stop() }
        let (bytes, axes) = (bytes, start + BNO085Report.axesOffset)
        func axis(_ number: Int) -> Float { Float(bytes.littleEndian(at: axes + 2 * number)) }
        return Report(
          id: id, sequence: bytes[start + BNO085Report.sequenceOffset], ticks: ticks,
          axes: SIMD3(axis(0), axis(1), axis(2)))
      }
    }
    return nil
  }

  private mutating func stop() -> Report? {
    isWhole = false
    offset = bytes.count
    return nil
  }

  /// A signed number of four bytes, low byte first.
  private func ticks(at offset: Int) -> Int {
    Int(bytes.littleEndian(at: offset + 2)) << 16 | Int(UInt16(bitPattern: bytes.littleEndian(at: offset)))
  }
}

extension BNO085Cargo {
  /// The contents of a cargo. The whole cargo is checked before any of its reports is used.
  struct Contents {
    /// The number of consecutive gyroscope reports up to the last one.
    var gyroscopeCount = 0
    /// The number of gyroscope reports before the last gap in the sequence numbers of this cargo.
    var strayCount = 0
    var first = Report(id: BNO085Report.gyroscope)
    var newest = Report(id: BNO085Report.gyroscope)
    /// The first accelerometer report.
    var accelerometer: Report?
    var flushCount = 0

    /// `nil` if the bytes are not a complete cargo of reports.
    init?(of bytes: UnsafeRawBufferPointer) {
      var cargo = BNO085Cargo(bytes)
      while let report = cargo.next() {
        switch report.id {
        case BNO085Report.gyroscope:
          if gyroscopeCount > 0, report.sequence != newest.sequence &+ 1 {
            strayCount += gyroscopeCount
            gyroscopeCount = 0
          }
          if gyroscopeCount == 0 { first = report }
          newest = report
          gyroscopeCount += 1
        case BNO085Report.accelerometer: accelerometer = accelerometer ?? report
        case BNO085Report.flushCompleted: flushCount += 1
        default: break
        }
      }
      guard cargo.isWhole else { return nil }
    }
  }
}

/// Joins the readings of two sensors with separate rates. A gyroscope reading waits until an accelerometer reading of
/// the same time or later has arrived, and gets the interpolated value.
struct BNO085Pairing {
  struct Reading {
    var at: MonotonicInstant
    var axes: SIMD3<Float>
  }

  private static let capacity = 64

  private var waiting = InlineArray<64, Reading>(
    repeating: Reading(at: MonotonicInstant(nanoseconds: 0), axes: .zero))
  private var count = 0
  private var earlier: Reading?
  private var latest: Reading?

  mutating func removeAll() {
    count = 0
    earlier = nil
    latest = nil
  }

  /// Adds a gyroscope reading.
  ///
  /// - Returns: `false` if there is no room, because no accelerometer reading arrived for `capacity` gyroscope
  ///   readings
  mutating func append(gyroscope: Reading, _ batch: inout IMUBatch) -> Bool {
    guard count < BNO085Pairing.capacity else { return false }
    waiting[count] = gyroscope
    count += 1
    join(&batch)
    return true
  }

  mutating func append(accelerometer: Reading, _ batch: inout IMUBatch) {
    earlier = latest
    latest = accelerometer
    join(&batch)
  }

  private mutating func join(_ batch: inout IMUBatch) {
    guard let latest else { return }
    var joined = 0
    while joined < count, waiting[joined].at <= latest.at, batch.count < IMUBatch.capacity {
      let gyroscope = waiting[joined]
      batch.append(
        IMUSample(
          at: gyroscope.at, gyroscope: gyroscope.axes, accelerometer: accelerometer(at: gyroscope.at, latest)))
      joined += 1
    }
    guard joined > 0 else { return }
    for index in joined..<count { waiting[index - joined] = waiting[index] }
    count -= joined
  }

  private func accelerometer(at instant: MonotonicInstant, _ latest: Reading) -> SIMD3<Float> {
    guard let earlier, earlier.at < latest.at else { return latest.axes }
    let share = instant.seconds(since: earlier.at) / latest.at.seconds(since: earlier.at)
    return earlier.axes + (latest.axes - earlier.axes) * Float(max(share, 0))
  }
}
