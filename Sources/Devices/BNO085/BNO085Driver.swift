import HardwareIO
import MonotonicTime

/// Driver of the BNO085, BNO080 and BNO086 as a gyroscope and an accelerometer.
///
/// The chip's own fusion is not used, because a filter needs measurements with the errors of the sensor. So the
/// gyroscope is the uncalibrated one: the chip subtracts a bias from the calibrated one that jumps whenever its
/// estimate changes, which a filter would follow, and the raw one has no known unit. The accelerometer is the one with
/// gravity: the linear one depends on the chip's own estimate of the vertical, and the raw one has no unit either.
/// Ranges are the chip's own, 2000 degrees per second and 8 g (6.6), whatever is requested.
///
/// Each sensor reports at its own pace, with the time before the chip's interrupt; a sample is a gyroscope's report and
/// its time. The chip collects a batch, and sends it on command, at each reading. There are three reasons. A chip that
/// interrupts for each report, or whose interrupt waits, has less time to compute (1.2.4.1). A chip without output
/// stretches the clock when it is read. And a batch that comes at once has an interrupt whose time is known even
/// without a wired line.
final class BNO085Driver: InertialDriver {
  /// What two readings at 25 Hz are apart, at 400 Hz; the makers do not say how much more there is room for.
  static let fifoSampleCount = 16

  /// Longer than two readings are apart, mostly; if one comes later the chip sends by itself.
  private static let batchInterval = Duration.milliseconds(50)
  /// A header that comes this soon after the chip had no output is as precise as the interrupt.
  private static let promptness = Duration.milliseconds(4)
  /// If a header takes this long, the clock was stretched.
  private static let longestHeader = Duration.milliseconds(5)
  /// The kernel keeps this number of edges; some kernel interfaces drop the newest when there are more.
  private static let edgeQueueLength = 16
  private static let nanosecondsPerTick: Int64 = 100_000
  /// The maximum number of gyroscope reports in a cargo, next to this number of samples.
  private static let fullBatch = IMUBatch.capacity - 64

  private(set) var counters = InertialCounters()

  private let link: SHTPLink
  private let connection: ChipConnection
  private let rate: BNO085Rate
  private var sampleClock: SampleClock
  private var pairing = BNO085Pairing()
  private var gyroscope = Course()
  private var accelerometer = Course()
  /// The chip's present output began after that.
  private var quietUntil = MonotonicInstant(nanoseconds: 0)
  /// The last reading left nothing in the chip.
  private var isEmptied = false
  /// The last reading had no room for the rest of the requested output.
  private var hasMore = false
  /// Samples were lost since the last batch that had any.
  private var hasGap = false
  /// Something was misread since the last gyroscope, which may be why the next is missing.
  private var isTorn = false

  /// How one of the sensors goes on.
  private struct Course {
    /// The last report's.
    var sequence: UInt8 = 0
    var at: MonotonicInstant?
    /// Nanoseconds; 0 while the chip has not said.
    var period = 0.0

    /// When a report was due, or will be.
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
    // Figure 6-8: 94 ms. Then it introduces itself; whether it is the right one it says when it is asked.
    connection.pause(.milliseconds(100))
    _ = try receive(within: .milliseconds(200)) { channel, cargo in
      channel == BNO085Report.executable && cargo[0] == BNO085Report.resetComplete
    }
    try link.send(BNO085Report.productIDRequest, 0, on: BNO085Report.control)
    let isRightOne = try receive(within: .milliseconds(200)) { channel, cargo in
      channel == BNO085Report.control && cargo[0] == BNO085Report.productIDResponse
        && cargo.count.isMultiple(of: BNO085Report.length(of: BNO085Report.productIDResponse) ?? 1)
    }
    guard isRightOne else { throw .unexpectedDevice("the chip at \(place) is no \(InertialChip.bno085.title)") }
    startOver()
    (gyroscope, accelerometer) = (Course(), Course())
    try enable(BNO085Report.accelerometer)
    try enable(BNO085Report.gyroscope)
    (quietUntil, isEmptied, hasMore) = (connection.clock.now, true, false)
    // The first reports tell when the next are due. Less than a batch's time, so that it is certain when they have come.
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
    // The limit for invalid answers, in a row or not.
    var patience = 4
    // More than a full FIFO's: one that says the same again and again is not listened to for ever.
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
        // A reader that had to wait for it got all the output.
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
        // A damaged header comes again; the next sequence numbers reveal other losses.
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

  /// Disables both sensors, puts the chip to sleep, and reads its answers, so that its interrupt does not wait.
  static func putToSleep(_ link: SHTPLink) throws(HardwareError) {
    try link.setFeature(BNO085Report.gyroscope, microseconds: 0, batch: 0)
    try link.setFeature(BNO085Report.accelerometer, microseconds: 0, batch: 0)
    try link.send(BNO085Report.sleep, on: BNO085Report.executable)
    // Then it has nothing to say, and may stretch the clock until the adapter gives up.
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

  /// Has a sensor report, and waits until the chip has said how often it will.
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
    // It has not had the time to send a batch by itself: its output is the one requested now.
    if isEmptied, now - quietUntil < BNO085Driver.batchInterval { quietUntil = now }
    do throws(HardwareError) {
      try link.send(BNO085Report.flush, BNO085Report.gyroscope, on: BNO085Report.control)
      try link.send(BNO085Report.flush, BNO085Report.accelerometer, on: BNO085Report.control)
    } catch {
      guard BNO085Driver.isSpoilt(error) else { throw error }
      misread()
    }
  }

  /// The last falling edge of the line, if it belongs to the waiting output.
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

  /// Takes packets until the awaited one arrives; returns whether it did.
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
        // While it starts it acknowledges nothing.
        var isPassing = BNO085Driver.isSpoilt(failure)
        if case .noAcknowledge = failure { isPassing = true }
        if isLate || !isPassing { throw failure }
      }
      if isLate { return false }
      if case .packet = arrival { continue }
      connection.pause(.milliseconds(10))
    }
  }

  /// A bus occasionally does this to a chip that stretches its clock: the adapter gives up, or another controller takes
  /// over.
  private static func isSpoilt(_ error: HardwareError) -> Bool {
    switch error {
    case .arbitrationLost, .timedOut, .system: true
    default: false
    }
  }

  /// Takes packets that are no measurements; returns the number of completed flushes.
  private func take(
    _ cargo: UnsafeRawBufferPointer, on channel: UInt8, _ batch: inout IMUBatch
  ) throws(HardwareError) -> Int {
    switch channel {
    case BNO085Report.control: return note(cargo)
    case BNO085Report.executable where cargo[0] == BNO085Report.resetComplete:
      // Its watchdog or its supply did that, and it has lost its configuration.
      startOver()
      batch.removeAll()
      batch.followsGap = true
      try setFeature(BNO085Report.accelerometer)
      try setFeature(BNO085Report.gyroscope)
      return 0
    default: return 0
    }
  }

  /// Notes how often the sensors report; returns how many flushes are completed.
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
    // One that is off has none, and one of more than a second was garbled.
    guard period > 0, period <= 1e9 else { return }
    switch report {
    case BNO085Report.accelerometer: accelerometer.period = period
    case BNO085Report.gyroscope:
      // The clock has learned its real rate.
      guard abs(gyroscope.period - period) > 0.1 * period else { return }
      gyroscope = Course(period: period)
      sampleClock = SampleClock(rateHz: 1e9 / period)
    default: break
    }
  }

  /// Takes a cargo of reports; returns the number of completed flushes, or `nil` if it cannot be one.
  ///
  /// - Parameter fall: the falling edge of the line for it, if it was seen
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
    // The sample clock's times for this cargo apply to both sensors.
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
    // The clock takes the newest to be half a period old; how old it is the chip has said.
    let half = Duration.nanoseconds(Int64(sampleClock.period / 2))
    return sampleClock.stamp(contents.gyroscopeCount, readAt: newest + half)
  }

  /// The time of the chip's interrupt for a cargo, without a line.
  private func estimatedInterrupt(of contents: BNO085Cargo.Contents) -> MonotonicInstant {
    let read = link.headerAt
    // It is not known how long it has been waiting: then a report was taken when it was due, if that is possible.
    guard read - quietUntil > BNO085Driver.promptness else { return read }
    let report = contents.gyroscopeCount > 0 ? contents.newest : contents.accelerometer
    let course = contents.gyroscopeCount > 0 ? gyroscope : accelerometer
    guard let report, let due = course.instant(of: report.sequence) else { return read }
    let interrupt = due + .nanoseconds(-Int64(report.ticks) * BNO085Driver.nanosecondsPerTick)
    return min(max(interrupt, quietUntil), read)
  }

  /// Whether gyroscopes are missing between the last one and those of a cargo, or among these.
  private func hasLost(before contents: BNO085Cargo.Contents) -> Bool {
    if contents.strayCount > 0 { return true }
    guard let last = gyroscope.at else { return false }
    if contents.first.sequence != gyroscope.sequence &+ 1 { return true }
    // Numbers come round after 256, and the interrupt was not before the chip had something to say.
    let silence =
      quietUntil.nanoseconds + Int64(contents.first.ticks) * BNO085Driver.nanosecondsPerTick - last.nanoseconds
    return Double(silence) > 128 * sampleClock.period
  }

  private func misread() {
    counters.misreads += 1
    isTorn = true
  }

  /// The next sample follows a gap, and earlier ones of this batch are dropped.
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

/// One of the rates of the gyroscope; of its own, which are a quarter faster, the accelerometer takes the next.
struct BNO085Rate {
  /// 6.9 names the fastest; those below halve it.
  private static let all: [Double] = [50, 100, 200, 400]

  let hertz: Double
  var microseconds: UInt32 { UInt32(1e6 / hertz) }

  init(nearest wish: Double) { hertz = BNO085Rate.all[BNO085Rate.all.slowestRate(for: wish)] }
}

extension SHTPLink {
  /// - Parameters:
  ///   - microseconds: between two reports; 0 for none
  ///   - batch: microseconds that the chip may keep them for
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
