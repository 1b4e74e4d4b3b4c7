import HardwareIO
import MonotonicTime

/// The state that a driver keeps from one read of its chip's FIFO to the next: counts, gaps, and the clock of the
/// samples.
struct FIFOReadout {
  /// The ways in which a FIFO's contents can be lost.
  enum Loss {
    /// The FIFO overflowed.
    case overflow
    /// A read of the FIFO was cut short or repeated on the bus.
    case misread
  }

  /// The number of edges that the kernel queues. Some kernel interfaces drop the newest edge when the queue is full.
  private static let edgeQueueLength = 16
  /// The number of bursts from one read of the temperature to the next. The temperature changes slowly.
  private static let temperatureInterval = 50

  private(set) var counters = InertialCounters()
  private let dataReady: (any GPIOEdgeInput)?
  private let clock: any MonotonicTimeSource
  private var sampleClock: SampleClock
  /// Whether samples were lost since the last batch that was not empty.
  private var hasGap = false
  /// The edge of the data-ready line that certainly belongs to the newest sample; `nil` if there is none.
  private var edge: MonotonicInstant?
  private var readAt = MonotonicInstant(nanoseconds: 0)
  private var burstsUntilTemperature = 0
  private var temperatureCelsius: Float?

  init(_ connection: ChipConnection, rateHz: Double) {
    dataReady = connection.dataReady
    clock = connection.clock
    sampleClock = SampleClock(rateHz: rateHz)
  }

  /// Reads the state of the FIFO with `ask`. With a data-ready line, the newest sample belongs to the last edge before
  /// the read. If an edge comes during the read, it is uncertain whether the FIFO's state includes its sample, so the
  /// sample clock estimates the times.
  mutating func look<Status>(_ ask: () throws(HardwareError) -> Status) throws(HardwareError) -> Status {
    let before = try dataReady?.takeEdges()
    let status = try ask()
    readAt = clock.now
    let meanwhile = try dataReady?.takeEdges()
    edge = nil
    if let before, meanwhile == nil, before.count < FIFOReadout.edgeQueueLength { edge = before.latest.at }
    return status
  }

  /// Records a loss, so that the next sample follows a gap.
  mutating func lose(_ loss: Loss, _ batch: inout IMUBatch) {
    switch loss {
    case .overflow: counters.overflows += 1
    case .misread: counters.misreads += 1
    }
    hasGap = true
    batch.followsGap = true
    sampleClock.reset()
  }

  /// Completes a batch with the times of its samples, its gap and its temperature.
  ///
  /// - Parameters:
  ///   - left: the number of samples that stay in the FIFO for lack of room
  ///   - readTemperature: called at intervals for the die's temperature, degrees Celsius
  mutating func complete(
    _ batch: inout IMUBatch, left: Int = 0, readTemperature: () throws(HardwareError) -> Float
  ) throws(HardwareError) {
    guard batch.count > 0 else { return }
    batch.followsGap = hasGap
    hasGap = false
    let back = Duration.nanoseconds(-Int64(sampleClock.period * Double(left)))
    let time =
      edge.map { sampleClock.stamp(batch.count, edge: $0 + back) }
      ?? sampleClock.stamp(batch.count, readAt: readAt + back)
    batch.stamp(first: time.first, period: time.period)
    // All samples of this batch were at an end of the scale and were removed, so the next batch must report the gap.
    if batch.count == 0 { hasGap = true }
    counters.samples += batch.count
    burstsUntilTemperature -= 1
    if burstsUntilTemperature < 0 {
      burstsUntilTemperature = FIFOReadout.temperatureInterval
      temperatureCelsius = try readTemperature()
    }
    batch.temperatureCelsius = temperatureCelsius
  }
}
