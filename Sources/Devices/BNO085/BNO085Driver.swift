import HardwareIO
import MonotonicTime

/// Driver of the BNO085, BNO080 and BNO086 as a gyroscope and an accelerometer.
///
/// The driver does not use the chip's own fusion, because a filter needs measurements with the sensors' own errors.
/// For the same reason it uses the report of the uncalibrated gyroscope: the chip subtracts its estimate of the bias
/// from the calibrated values, and a filter would follow each jump of that estimate. It uses the accelerometer report
/// that includes gravity, because the linear acceleration depends on the chip's own estimate of the vertical. The raw
/// values of both sensors have no known unit. The ranges are fixed, 2000 degrees per second and 8 g (6.6), whatever
/// the configuration requests.
///
/// Each sensor reports at its own rate, and each report states its time relative to the chip's interrupt. A sample is
/// a report of the gyroscope. The chip collects reports in a batch, and the driver requests the batch with a command
/// at each reading, for three reasons:
///
/// - A chip that interrupts for each report, or whose interrupt waits, has less time to compute (1.2.4.1).
/// - A chip without output stretches the clock when it is read.
/// - The time of the interrupt after a command is known even if the interrupt line is not wired.
final class BNO085Driver: InertialDriver {
  /// The number of samples at 400 Hz between two readings at 25 Hz. The manufacturer does not document how many more
  /// the FIFO holds.
  static let fifoSampleCount = 16

  /// The time for which the chip collects a batch. It is longer than the usual interval between readings. If a reading
  /// is late, the chip sends the batch without a command.
  private static let batchInterval = Duration.milliseconds(50)
  /// If a header arrives this soon after the chip had no output, the header's time is as precise as the interrupt's.
  private static let promptness = Duration.milliseconds(4)
  /// If reading a header takes longer than this, the chip stretched the clock.
  private static let longestHeader = Duration.milliseconds(5)
  /// The number of edges that the kernel queues. Some kernel interfaces drop the newest edge when the queue is full.
  private static let edgeQueueLength = 16
  private static let nanosecondsPerTick: Int64 = 100_000
  /// The driver reads another cargo only while the batch has at most this number of samples, because a cargo may have
  /// 64 gyroscope reports.
  private static let fullBatch = IMUBatch.capacity - 64

  private(set) var counters = InertialCounters()

  private let link: SHTPLink
  private let connection: ChipConnection
  private let rate: BNO085Rate
  private var sampleClock: SampleClock
  private var pairing = BNO085Pairing()
  private var gyroscope = Course()
  private var accelerometer = Course()
  /// The earliest time at which the chip's present output can have begun.
  private var quietUntil = MonotonicInstant(nanoseconds: 0)
  /// Whether the last reading took all output of the chip.
  private var isEmptied = false
  /// Whether the last reading had no room for the rest of the requested output.
  private var hasMore = false
  /// Whether samples were lost since the last batch that was not empty.
  private var hasGap = false
  /// Whether a transfer was misread since the last gyroscope report. If so, a missing report does not count as an
  /// overflow.
  private var isTorn = false

  /// The sequence number, time and period of one sensor's reports.
  private struct Course {
    /// The sequence number of the last report.
    var sequence: UInt8 = 0
    var at: MonotonicInstant?
    /// The period in nanoseconds; 0 until the chip has stated it.
    var period = 0.0

    /// When a report was or will be due.
    func instant(of sequence: UInt8) -> MonotonicInstant? {
      at.map { MonotonicInstant(nanoseconds: $0.nanoseconds + Int64(period * Double(sequence &- self.sequence))) }
    }
  }

  init(_ connection: ChipConnection, _ configuration: InertialConfiguration) {
    self.connection = connection
    link = SHTPLink(connection.bus, address: connection.address, clock: connection.clock)
    rate = BNO085Rate(nearest: configuration.rateHz)
    sampleClock = SampleClock(rateHz: rate.hertz)
  }

  func start() throws(HardwareError) {
    try link.send(BNO085Report.reset, on: BNO085Report.executable)
    // The start takes 94 ms (figure 6-8). Then the chip reports that the reset is complete, and answers a request for
    // its product ID.
    connection.pause(.milliseconds(100))
    _ = try receive(within: .milliseconds(200)) { channel, cargo in
      channel == BNO085Report.executable && cargo[0] == BNO085Report.resetComplete
    }
    try link.send(BNO085Report.productIDRequest, 0, on: BNO085Report.control)
    let isRightOne = try receive(within: .milliseconds(200)) { channel, cargo in
      channel == BNO085Report.control && cargo[0] == BNO085Report.productIDResponse
        && cargo.count.isMultiple(of: BNO085Report.length(of: BNO085Report.productIDResponse) ?? 1)
    }
    guard isRightOne else {
      throw .unexpectedDevice("the chip at \(place) is not \(ChipIdentity.withArticle(InertialChip.bno085.title))")
    }
    startOver()
    (gyroscope, accelerometer) = (Course(), Course())
    try enable(BNO085Report.accelerometer)
    try enable(BNO085Report.gyroscope)
    (quietUntil, isEmptied, hasMore) = (connection.clock.now, true, false)
    // The first reports show when the next ones are due. The wait is shorter than the batch interval, so the chip
    // sends these reports only on command, and their time is certain.
    connection.pause(.milliseconds(40))
    var batch = IMUBatch()
    try read(into: &batch)
    (counters, hasGap, isTorn) = (InertialCounters(), false, false)
  }

  func read(into batch: inout IMUBatch) throws(HardwareError) {
    batch.removeAll()
    if !hasMore { try flush() }
    (isEmptied, hasMore) = (false, false)
    var flushesLeft = 2
    // The driver accepts this number of further answers without measurements, consecutive or not.
    var patience = 4
    // A full FIFO has fewer packets. The limit stops the loop if a chip sends packets without end.
    var packetsLeft = 64
    while flushesLeft > 0, patience > 0, packetsLeft > 0 {
      packetsLeft -= 1
      guard batch.count <= BNO085Driver.fullBatch else {
        hasMore = true
        break
      }
      let fall = try lastFall()
      let began = connection.clock.now
      switch try receive() {
      case .packet(channel: BNO085Report.inputReports, cargo: let cargo):
        if let flushed = take(cargo, fall: fall, &batch) {
          flushesLeft -= flushed
        } else {
          misread()
          patience -= 1
        }
        quietUntil = connection.clock.now
        // If the header took long, the chip had no output before, so this packet has all of its output.
        if link.headerAt - began > BNO085Driver.longestHeader { patience = 0 }
      case .packet(let channel, let cargo):
        flushesLeft -= try take(cargo, on: channel, &batch)
        quietUntil = connection.clock.now
        patience -= 1
      case .nothing:
        quietUntil = link.headerAt
        patience -= 1
        if patience > 0 { connection.pause(.milliseconds(2)) }
      case .garbled:
        // A damaged header is sent again; the next sequence numbers reveal other losses.
        misread()
        patience -= 1
        if patience > 0 { connection.pause(.milliseconds(2)) }
      }
    }
    isEmptied = flushesLeft <= 0
    guard batch.count > 0 else { return }
    batch.followsGap = hasGap
    hasGap = false
    counters.samples += batch.count
  }

  func stop() { try? BNO085Driver.putToSleep(link) }

  /// Disables both sensors, puts the chip to sleep, and reads its answers, so that no interrupt stays pending.
  static func putToSleep(_ link: SHTPLink) throws(HardwareError) {
    try link.setFeature(BNO085Report.gyroscope, microseconds: 0, batch: 0)
    try link.setFeature(BNO085Report.accelerometer, microseconds: 0, batch: 0)
    try link.send(BNO085Report.sleep, on: BNO085Report.executable)
    // The chip has no output left, and may stretch the clock until the adapter gives up.
    for _ in 0..<8 {
      guard case .packet? = try? link.receive() else { return }
    }
  }

  private var place: String { "0x\(String(connection.address, radix: 16)) on \(connection.bus.name)" }

  private func setFeature(_ report: UInt8) throws(HardwareError) {
    try link.setFeature(
      report, microseconds: rate.microseconds,
      batch: UInt32(BNO085Driver.batchInterval.inNanoseconds / 1000))
  }

  /// Enables the reports of a sensor, and waits until the chip has stated their rate.
  private func enable(_ report: UInt8) throws(HardwareError) {
    for _ in 0..<3 {
      try setFeature(report)
      let isEnabled = try receive(within: .milliseconds(100)) { channel, cargo in
        guard channel == BNO085Report.control else { return false }
        _ = note(cargo)
        return (report == BNO085Report.gyroscope ? gyroscope : accelerometer).period > 0
      }
      if isEnabled { return }
    }
    throw .timedOut("the \(InertialChip.bno085.title) at \(place)")
  }

  /// Makes the chip send its batch.
  private func flush() throws(HardwareError) {
    let now = connection.clock.now
    // The chip had no time to send a batch without a command, so its next output is the requested one.
    if isEmptied, now - quietUntil < BNO085Driver.batchInterval { quietUntil = now }
    do throws(HardwareError) {
      try link.send(BNO085Report.flush, BNO085Report.gyroscope, on: BNO085Report.control)
      try link.send(BNO085Report.flush, BNO085Report.accelerometer, on: BNO085Report.control)
    } catch {
      guard BNO085Driver.isSpoilt(error) else { throw error }
      misread()
    }
  }

  /// The last falling edge of the interrupt line; `nil` if it does not belong to the waiting output.
  private func lastFall() throws(HardwareError) -> MonotonicInstant? {
    guard let edges = try connection.dataReady?.takeEdges(), edges.count < BNO085Driver.edgeQueueLength,
      !edges.latest.isRising, edges.latest.at > quietUntil
    else { return nil }
    return edges.latest.at
  }

  private func receive() throws(HardwareError) -> SHTPLink.Arrival {
    do throws(HardwareError) {
      return try link.receive()
    } catch {
      guard BNO085Driver.isSpoilt(error) else { throw error }
      return .garbled
    }
  }

  /// Receives packets until the awaited one arrives.
  ///
  /// - Returns: whether the awaited packet arrived
  private func receive(
    within limit: Duration, _ isAwaited: (_ channel: UInt8, _ cargo: UnsafeRawBufferPointer) -> Bool
  ) throws(HardwareError) -> Bool {
    let deadline = connection.clock.now + limit
    while true {
      var failure: HardwareError?
      var arrival = SHTPLink.Arrival.nothing
      do throws(HardwareError) {
        arrival = try link.receive()
      } catch {
        failure = error
      }
      if case .packet(let channel, let cargo) = arrival, isAwaited(channel, cargo) { return true }
      let isLate = connection.clock.now >= deadline
      if let failure {
        // The chip acknowledges nothing while it starts.
        var isPassing = BNO085Driver.isSpoilt(failure)
        if case .noAcknowledge = failure { isPassing = true }
        if isLate || !isPassing { throw failure }
      }
      if isLate { return false }
      if case .packet = arrival { continue }
      connection.pause(.milliseconds(10))
    }
  }

  /// Whether a transfer may have failed because the chip stretched its clock: the adapter gives up, or another
  /// controller takes over.
  private static func isSpoilt(_ error: HardwareError) -> Bool {
    switch error {
    case .arbitrationLost, .timedOut, .system: true
    default: false
    }
  }

  /// Handles a packet that carries no measurements.
  ///
  /// - Returns: the number of completed flushes
  private func take(
    _ cargo: UnsafeRawBufferPointer, on channel: UInt8, _ batch: inout IMUBatch
  ) throws(HardwareError) -> Int {
    switch channel {
    case BNO085Report.control: return note(cargo)
    case BNO085Report.executable where cargo[0] == BNO085Report.resetComplete:
      // The chip was reset by its watchdog or its supply, and has lost its configuration.
      startOver()
      batch.removeAll()
      batch.followsGap = true
      try setFeature(BNO085Report.accelerometer)
      try setFeature(BNO085Report.gyroscope)
      return 0
    default: return 0
    }
  }

  /// Processes a cargo of control reports: stores the sample periods that the chip reports for its sensors, and counts
  /// the completed flushes.
  ///
  /// - Returns: the number of completed flushes
  private func note(_ cargo: UnsafeRawBufferPointer) -> Int {
    var flushed = 0
    var offset = 0
    while offset < cargo.count, let length = BNO085Report.length(of: cargo[offset]), offset + length <= cargo.count {
      if cargo[offset] == BNO085Report.flushCompleted { flushed += 1 }
      if cargo[offset] == BNO085Report.getFeatureResponse {
        let microseconds = cargo.loadUnaligned(
          fromByteOffset: offset + BNO085Report.intervalOffset, as: UInt32.self)
        note(Double(UInt32(littleEndian: microseconds)) * 1000, of: cargo[offset + 1])
      }
      offset += length
    }
    return flushed
  }

  private func note(_ period: Double, of report: UInt8) {
    // A disabled sensor has no period, and a period above a second is garbled.
    guard period > 0, period <= 1e9 else { return }
    switch report {
    case BNO085Report.accelerometer: accelerometer.period = period
    case BNO085Report.gyroscope:
      // If the period is nearly the same, keep the sample clock, which has learned the chip's real rate.
      guard abs(gyroscope.period - period) > 0.1 * period else { return }
      gyroscope = Course(period: period)
      sampleClock = SampleClock(rateHz: 1e9 / period)
    default: break
    }
  }

  /// Adds the reports of a cargo to the batch.
  ///
  /// - Parameter fall: the falling edge of the interrupt line that announced the cargo; `nil` if it is unknown
  /// - Returns: the number of completed flushes; `nil` if the cargo is invalid
  private func take(
    _ cargo: UnsafeRawBufferPointer, fall: MonotonicInstant?, _ batch: inout IMUBatch
  ) -> Int? {
    guard let contents = BNO085Cargo.Contents(of: cargo) else { return nil }
    if contents.gyroscopeCount > 0 {
      if hasLost(before: contents) { lose(&batch) }
      isTorn = false
    }
    let interrupt = fall ?? estimatedInterrupt(of: contents)
    func instant(_ report: BNO085Cargo.Report) -> Int64 {
      interrupt.nanoseconds + Int64(report.ticks) * BNO085Driver.nanosecondsPerTick
    }
    var times = (first: Int64(0), period: 0.0)
    // The difference between the sample clock's times and the chip's, in nanoseconds. It applies to both sensors.
    var correction: Int64 = 0
    if contents.gyroscopeCount > 0 {
      times = stamp(contents, newest: MonotonicInstant(nanoseconds: instant(contents.newest)), isCertain: fall != nil)
      let newest = times.first + Int64(times.period * Double(contents.gyroscopeCount - 1))
      correction = newest - instant(contents.newest)
      gyroscope = Course(
        sequence: contents.newest.sequence, at: MonotonicInstant(nanoseconds: newest), period: times.period)
    }
    var reports = BNO085Cargo(cargo)
    var number = -contents.strayCount
    while let report = reports.next() {
      switch report.id {
      case BNO085Report.gyroscope:
        let at = MonotonicInstant(nanoseconds: times.first + Int64(times.period * Double(number)))
        number += 1
        if number > 0 { append(gyroscope: report, at: at, &batch) }
      case BNO085Report.accelerometer:
        let at = MonotonicInstant(nanoseconds: instant(report) + correction)
        accelerometer.sequence = report.sequence
        accelerometer.at = at
        pairing.append(
          accelerometer: .init(at: at, axes: report.axes * BNO085Report.metresPerSecondSquaredPerUnit), &batch)
      default: break
      }
    }
    return contents.flushCount
  }

  private func append(gyroscope report: BNO085Cargo.Report, at: MonotonicInstant, _ batch: inout IMUBatch) {
    let reading = BNO085Pairing.Reading(at: at, axes: report.axes * BNO085Report.radiansPerSecondPerUnit)
    if pairing.append(gyroscope: reading, &batch) { return }
    lose(&batch)
    _ = pairing.append(gyroscope: reading, &batch)
  }

  private func stamp(
    _ contents: BNO085Cargo.Contents, newest: MonotonicInstant, isCertain: Bool
  ) -> (first: Int64, period: Double) {
    if isCertain { return sampleClock.stamp(contents.gyroscopeCount, edge: newest) }
    // The sample clock assumes that the newest sample is half a period old, but the chip has stated its real age.
    let half = Duration.nanoseconds(Int64(sampleClock.period / 2))
    return sampleClock.stamp(contents.gyroscopeCount, readAt: newest + half)
  }

  /// The estimated time of the chip's interrupt for a cargo, if the edge of the interrupt line is unknown.
  private func estimatedInterrupt(of contents: BNO085Cargo.Contents) -> MonotonicInstant {
    let read = link.headerAt
    // It is unknown how long the output has waited. Assume that the newest report was measured when it was due, unless
    // that contradicts the known times.
    guard read - quietUntil > BNO085Driver.promptness else { return read }
    let report = contents.gyroscopeCount > 0 ? contents.newest : contents.accelerometer
    let course = contents.gyroscopeCount > 0 ? gyroscope : accelerometer
    guard let report, let due = course.instant(of: report.sequence) else { return read }
    let interrupt = due + .nanoseconds(-Int64(report.ticks) * BNO085Driver.nanosecondsPerTick)
    return min(max(interrupt, quietUntil), read)
  }

  /// Whether gyroscope reports are missing before or between the gyroscope reports of a cargo.
  private func hasLost(before contents: BNO085Cargo.Contents) -> Bool {
    if contents.strayCount > 0 { return true }
    guard let last = gyroscope.at else { return false }
    if contents.first.sequence != gyroscope.sequence &+ 1 { return true }
    // The sequence numbers cannot show a loss of exactly 256 reports, but the time can. The interrupt came after
    // `quietUntil`, so `silence` is the shortest possible time since the last report.
    let silence =
      quietUntil.nanoseconds + Int64(contents.first.ticks) * BNO085Driver.nanosecondsPerTick - last.nanoseconds
    return Double(silence) > 128 * sampleClock.period
  }

  private func misread() {
    counters.misreads += 1
    isTorn = true
  }

  /// Marks a gap before the next sample, and drops the earlier samples of this batch.
  private func lose(_ batch: inout IMUBatch) {
    if !isTorn { counters.overflows += 1 }
    isTorn = false
    startOver()
    batch.removeAll()
    batch.followsGap = true
  }

  private func startOver() {
    hasGap = true
    pairing.removeAll()
    gyroscope.at = nil
    accelerometer.at = nil
    sampleClock.reset()
  }
}

/// A rate of the gyroscope. The accelerometer uses the next of its own rates, which are a quarter faster.
struct BNO085Rate {
  /// The rates. Section 6.9 states the fastest rate, and each other rate is half of the next one.
  private static let all: [Double] = [50, 100, 200, 400]

  let hertz: Double
  var microseconds: UInt32 { UInt32(1e6 / hertz) }

  init(nearest requested: Double) { hertz = BNO085Rate.all[BNO085Rate.all.slowestRate(for: requested)] }
}

extension SHTPLink {
  /// - Parameters:
  ///   - microseconds: the time between two reports; 0 for none
  ///   - batch: the time that the chip may keep reports
  fileprivate func setFeature(
    _ report: UInt8, microseconds: UInt32, batch: UInt32
  ) throws(HardwareError) {
    try send(on: BNO085Report.control, count: BNO085Report.setFeatureLength) { cargo in
      cargo[0] = BNO085Report.setFeature
      cargo[1] = report
      cargo.storeBytes(of: microseconds.littleEndian, toByteOffset: BNO085Report.intervalOffset, as: UInt32.self)
      cargo.storeBytes(of: batch.littleEndian, toByteOffset: BNO085Report.batchIntervalOffset, as: UInt32.self)
    }
  }
}
