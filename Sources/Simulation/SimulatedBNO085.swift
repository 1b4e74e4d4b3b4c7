import Guarding
import HardwareIO
import MonotonicTime

/// A BNO085 at the packet level: its messages after a reset, identification, features with the rates that the chip
/// supports, batches and flushes, timestamps before the interrupt, a queue that overflows, and packets that are read
/// in pieces.
public final class SimulatedBNO085: SimulatedChip {
  public let name: String
  public let maximumReadLength = 4096
  public let address: UInt8
  private let world: World
  private let clock: any MonotonicTimeSource
  private let isPowered: @Sendable () -> Bool
  private let interior = Guarded(BNO085Interior())

  /// - Parameters:
  ///   - name: the name of the bus
  ///   - isPowered: whether the chip has its supply; without it, the chip does not answer
  public init(
    name: String, world: World, clock: any MonotonicTimeSource = MonotonicClock(), address: UInt8 = 0x4A,
    isPowered: @escaping @Sendable () -> Bool
  ) {
    self.name = name
    self.world = world
    self.clock = clock
    self.address = address
    self.isPowered = isPowered
  }

  /// Records that the supply has failed, so that the configuration is lost.
  public func lostPower() { interior.withLock { $0 = BNO085Interior() } }

  public func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
    guard address == self.address, isPowered() else { throw .noAcknowledge(bus: name, address: address) }
    let now = clock.now
    let hasAnswered = interior.withLock { interior in
      guard interior.hasStarted(by: now) else { return false }
      for operation in operations {
        switch operation {
        case .write(let bytes): if operations.count == 1 { interior.take(bytes, world, at: now) }
        case .read(let bytes):
          // The chip does not support a repeated start.
          guard operations.count == 1 else {
            for index in bytes.indices { bytes[index] = 0xFF }
            continue
          }
          interior.give(bytes, world, at: now)
        }
      }
      return true
    }
    if !hasAnswered { throw .noAcknowledge(bus: name, address: address) }
  }
}

/// The internal state of a BNO085.
private struct BNO085Interior {
  /// An enabled sensor.
  private struct Feature {
    var id: UInt8
    /// The period in nanoseconds, like all intervals here.
    var period: Int64
    var batchInterval: Int64
    var inertia: SimulatedInertia
  }

  private struct Report {
    var at: MonotonicInstant
    /// The report without its delay.
    var bytes: [UInt8]
  }

  private struct Cargo {
    var channel: UInt8
    var bytes: [UInt8]
    var isContinued = false
  }

  private static let startTime = Duration.milliseconds(94)
  /// The capacity of the report queue in bytes.
  private static let queueLimit = 2048
  /// The length of the longest cargo, the advertisement, in bytes.
  private static let longestCargo = 272
  /// The supported intervals in microseconds.
  private static let accelerometerIntervals: [Int64] = [64_000, 32_000, 16_000, 8_000, 4_000, 2_000]
  private static let gyroscopeIntervals: [Int64] = [40_000, 20_000, 10_000, 5_000, 2_500]
  // Noise densities of the BMI055 inside: 14 mdps/√Hz and 150 µg/√Hz, at a bandwidth of about 50 Hz.
  private static let ratesSigma: Double = 0.1 * .pi / 180
  private static let forceSigma = 0.011

  private var startsAt: MonotonicInstant?
  /// Messages that are sent before any report.
  private var outbox = [
    Cargo(channel: 0, bytes: BNO085Interior.advertisement),
    Cargo(channel: 2, bytes: [0xF1, 0x00, 0x84, 0x00, 0x00, 0x00, 0x01] + [UInt8](repeating: 0, count: 9)),
    Cargo(channel: 1, bytes: [1]),
  ]
  /// The cargo for which the host has been interrupted.
  private var cargo: Cargo?
  private var features: [Feature] = []
  private var reports: [Report] = []
  /// The sensors whose flushes are incomplete, and when the last flush was requested.
  private var flushing: [UInt8] = []
  private var flushedAt = MonotonicInstant(nanoseconds: 0)
  /// When the host finished reading the last cargo.
  private var idleSince = MonotonicInstant(nanoseconds: 0)
  private var isAsleep = false
  private var sequences = [UInt8](repeating: 0, count: 6)

  init() {}

  func hasStarted(by now: MonotonicInstant) -> Bool { startsAt.map { $0 <= now } ?? true }

  mutating func take(_ bytes: UnsafeRawBufferPointer, _ world: World, at now: MonotonicInstant) {
    advance(world, to: now)
    guard bytes.count > 4, Int(bytes[1]) << 8 | Int(bytes[0]) == bytes.count else { return }
    let body = Array(bytes[4...])
    switch (bytes[2], body[0]) {
    case (1, 1):
      self = BNO085Interior()
      startsAt = now + BNO085Interior.startTime
    case (1, 2): sleep(false, at: now)
    case (1, 3): sleep(true, at: now)
    case (2, 0xF9):
      // The chip sends two product IDs in each of two cargoes.
      for number in [0, 2] as [UInt8] {
        outbox.append(Cargo(channel: 2, bytes: productID(number) + productID(number + 1)))
      }
    case (2, 0xFD) where body.count == 17: set(body, at: now)
    case (2, 0xFE) where body.count == 2: answerFeature(body[1], batch: 0)
    case (2, 0xF0) where body.count == 2:
      flushing.append(body[1])
      flushedAt = now
    default: break
    }
  }

  mutating func give(_ bytes: UnsafeMutableRawBufferPointer, _ world: World, at now: MonotonicInstant) {
    advance(world, to: now)
    for index in bytes.indices { bytes[index] = 0 }
    guard var current = cargo else { return }
    let length = current.bytes.count + 4
    let header = [
      UInt8(length & 0xFF), UInt8(length >> 8) | (current.isContinued ? 0x80 : 0), current.channel,
      sequences[Int(current.channel)],
    ]
    sequences[Int(current.channel)] &+= 1
    for (index, byte) in (header + current.bytes).prefix(bytes.count).enumerated() { bytes[index] = byte }
    current.isContinued = true
    current.bytes.removeFirst(min(max(0, bytes.count - 4), current.bytes.count))
    cargo = current.bytes.isEmpty ? nil : current
    if cargo == nil { idleSince = now }
  }

  private mutating func sleep(_ isAsleep: Bool, at now: MonotonicInstant) {
    guard isAsleep != self.isAsleep else { return }
    self.isAsleep = isAsleep
    for index in features.indices { features[index].inertia.begin(at: isAsleep ? nil : now) }
  }

  private mutating func set(_ body: [UInt8], at now: MonotonicInstant) {
    func microseconds(_ offset: Int) -> Int64 {
      (0..<4).reduce(0) { $0 | Int64(body[offset + $1]) << (8 * Int64($1)) }
    }
    let id = body[1]
    features.removeAll { $0.id == id }
    if microseconds(5) > 0, let interval = BNO085Interior.interval(of: id, near: microseconds(5)) {
      var inertia = SimulatedInertia(
        seed: 85 + UInt64(id), ratesSigma: BNO085Interior.ratesSigma, forceSigma: BNO085Interior.forceSigma)
      inertia.begin(at: isAsleep ? nil : now)
      features.append(
        Feature(id: id, period: interval * 1000, batchInterval: microseconds(9) * 1000, inertia: inertia))
    }
    answerFeature(id, batch: microseconds(9))
  }

  /// The longest supported interval that is not much longer than requested: nine tenths of the requested rate suffice.
  private static func interval(of id: UInt8, near requested: Int64) -> Int64? {
    let all: [Int64]
    switch id {
    case 0x01: all = accelerometerIntervals
    case 0x02, 0x07: all = gyroscopeIntervals
    default: return nil
    }
    return all.first { $0 * 9 <= requested * 10 } ?? all.last
  }

  private mutating func answerFeature(_ id: UInt8, batch: Int64) {
    let interval = (features.first { $0.id == id }?.period ?? 0) / 1000
    outbox.append(
      Cargo(channel: 2, bytes: [0xFC, id, 0, 0, 0] + bytes(of: interval) + bytes(of: batch) + [0, 0, 0, 0]))
  }

  private func productID(_ number: UInt8) -> [UInt8] {
    [0xF8, 4, 3, 2] + bytes(of: 10_003_608 + Int64(number)) + bytes(of: 370) + [7, 0, 0, 0]
  }

  /// Advances the chip to `now`: interrupts the host if there is something to send, and queues new measurements.
  private mutating func advance(_ world: World, to now: MonotonicInstant) {
    if cargo == nil {
      if !outbox.isEmpty {
        cargo = outbox.removeFirst()
      } else if let interrupt = interruptTime, interrupt <= now {
        measure(world, until: interrupt)
        cargo = batch(at: interrupt)
      }
    }
    measure(world, until: now)
    while reports.reduce(0, { $0 + $1.bytes.count }) > BNO085Interior.queueLimit { reports.removeFirst() }
  }

  /// When the chip has interrupted, or will interrupt.
  private var interruptTime: MonotonicInstant? {
    if !flushing.isEmpty { return max(flushedAt, idleSince) }
    let next = features.compactMap { feature in
      feature.inertia.start.map { $0 + .nanoseconds(feature.period * Int64(feature.inertia.sampleCount + 1)) }
    }.min()
    guard let oldest = reports.first?.at ?? next else { return nil }
    let interval = features.map(\.batchInterval).min() ?? 0
    return max(oldest + .nanoseconds(interval), idleSince)
  }

  private mutating func measure(_ world: World, until instant: MonotonicInstant) {
    var taken: [Report] = []
    for index in features.indices {
      let id = features[index].id
      _ = features[index].inertia.takeDue(at: instant, period: features[index].period, limit: 200) {
        number, at, inertia in
        let raw = inertia.raw(
          world.truth(at: at), degreesPerUnit: 180 / .pi / 512, gravitiesPerUnit: 1 / 256 / 9.80665)
        // Status 3 means high accuracy.
        var bytes = [id, UInt8(truncatingIfNeeded: number), 3, 0]
        bytes.append(lowByteFirst: id == 0x01 ? raw.accelerometer : raw.gyroscope)
        // The bias is zero, because the chip has not estimated it.
        if id == 0x07 { bytes += [UInt8](repeating: 0, count: 6) }
        taken.append(Report(at: at, bytes: bytes))
      }
    }
    reports += taken.sorted { $0.at < $1.at }
  }

  /// Removes the reports that are due, and returns them in one cargo with the flushes that are complete.
  private mutating func batch(at interrupt: MonotonicInstant) -> Cargo? {
    func ticks(_ duration: Duration) -> Int64 { (duration.inNanoseconds + 50_000) / 100_000 }
    var contents: [UInt8] = []
    if let first = reports.first?.at, first <= interrupt {
      contents = [0xFB] + bytes(of: ticks(interrupt - first))
      while let report = reports.first, report.at <= interrupt {
        let delay = ticks(report.at - first)
        guard delay < 1 << 14, contents.count + report.bytes.count <= BNO085Interior.longestCargo else { break }
        var bytes = report.bytes
        bytes[2] |= UInt8(delay >> 8) << 2
        bytes[3] = UInt8(delay & 0xFF)
        contents += bytes
        reports.removeFirst()
      }
    }
    let isFlushed = reports.first.map { $0.at > flushedAt } ?? true
    if isFlushed, contents.count + 2 * flushing.count <= BNO085Interior.longestCargo {
      for id in flushing { contents += [0xEF, id] }
      flushing = []
    }
    return contents.isEmpty ? nil : Cargo(channel: 3, bytes: contents)
  }

  /// Four bytes, the lowest first.
  private func bytes(of number: Int64) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * Int64($0))) }
  }

  /// Tags with length and value: the applications, their channels, and the lengths of the reports.
  private static let advertisement: [UInt8] = {
    var bytes: [UInt8] = [0]
    func tag(_ number: UInt8, _ value: [UInt8]) { bytes += [number, UInt8(value.count)] + value }
    func name(_ number: UInt8, _ text: String) { tag(number, Array(text.utf8) + [0]) }
    func channel(_ number: UInt8, _ text: String, wakes: Bool = false) {
      tag(wakes ? 0x07 : 0x06, [number])
      name(0x09, text)
    }
    tag(0x01, [0, 0, 0, 0])
    name(0x80, "1.0.0")
    // These tags state the longest cargo and transfer in each direction.
    for number in [0x02, 0x04] as [UInt8] {
      tag(number, [0x00, 0x01])
      tag(number + 1, [0xFF, 0x7F])
    }
    name(0x08, "SHTP")
    channel(0, "control")
    tag(0x01, [1, 0, 0, 0])
    name(0x08, "executable")
    channel(1, "device")
    tag(0x01, [2, 0, 0, 0])
    name(0x08, "sensorhub")
    channel(2, "control")
    channel(3, "inputNormal")
    channel(4, "inputWake", wakes: true)
    channel(5, "inputGyroRv")
    name(0x80, "1.1.0")
    let lengths: [UInt8] = [
      10, 10, 10, 10, 14, 10, 16, 12, 14, 8, 8, 6, 6, 6, 16, 5, 12, 6, 6, 16, 16, 16, 0, 8, 6, 0, 0, 6, 0, 16, 0, 0, 0,
      0, 0, 0, 0, 0, 0, 14, 12, 14,
    ]
    tag(
      0x81,
      [0xF8, 16, 0xF5, 4, 0xF3, 16, 0xF1, 16, 0xFB, 5, 0xFA, 5, 0xFC, 17, 0xEF, 2]
        + lengths.enumerated().flatMap { [UInt8($0.offset + 1), $0.element] })
    return bytes
  }()
}
