import Glibc
import Guarding
import HardwareIO
import Hub
import MonotonicTime
import UBX

/// A receiver whose supply is a line. It reports its state each second of the clock, and its first fixes are
/// inaccurate. It sends u-blox messages, which mark the end of each epoch, like a real receiver.
final class ScheduledReceiver: Sendable {
  private struct State {
    var poweredAt: MonotonicInstant?
    /// The time to first fix of the present start.
    var firstFixSeconds = 0.0
    var offAt: MonotonicInstant?
    /// Bytes that have been sent but not read.
    var bytes: [UInt8] = []
    var isOpen = false
    /// Whether the reader has processed all bytes and waits for more.
    var isAwaited = false
  }

  /// The time from the first fix until the fixes reach their full accuracy.
  static let settlingSeconds = 2.0
  /// The standard deviations in metres of the first fix, the second, and all later ones. 95 % of the later ones are
  /// within 7.3 m.
  private static let accuracies = [40.0, 15, 3]
  /// A Sunday, on which a GPS week begins.
  private static let firstDay = 22

  /// The position in metres north and east of 52.5° and 13.4°, and its change per second.
  typealias Journey = @Sendable (MonotonicInstant) -> (place: SIMD2<Double>, velocity: SIMD2<Double>)

  private let receiver: PowerReceiver
  private let clock: ManualClock
  private let journey: Journey
  /// The index of the fix for which the receiver is switched on at an instant.
  private let fixIndex: @Sendable (MonotonicInstant) -> Int
  private let signal = WakeSignal()
  private let state = Guarded(State())

  init(
    _ receiver: PowerReceiver, clock: ManualClock, fixIndex: @escaping @Sendable (MonotonicInstant) -> Int,
    journey: @escaping Journey
  ) {
    self.receiver = receiver
    self.clock = clock
    self.fixIndex = fixIndex
    self.journey = journey
  }

  /// The time at which its supply was switched on.
  var poweredAt: MonotonicInstant? { state.withLock { $0.poweredAt } }

  /// Whether a reader has processed everything sent and waits for more.
  var isAwaited: Bool { state.withLock { $0.isOpen && $0.isAwaited } }

  /// Whether everything sent has been processed.
  var isHeard: Bool { state.withLock { !$0.isOpen || $0.isAwaited } }

  /// Sends the present state at this instant, a whole second, if the port is open.
  func report() {
    let now = clock.now
    state.withLock { state in
      guard state.isOpen, let poweredAt = state.poweredAt else { return }
      // A start may have been timed to the nanosecond, so the age is rounded up slightly.
      let age = now.seconds(since: poweredAt) - state.firstFixSeconds + 1e-6
      let accuracy = age < 0 ? nil : ScheduledReceiver.accuracies[min(Int(age), 2)]
      state.bytes += message(accuracy, at: now)
      state.isAwaited = false
      signal.raise()
    }
  }

  private func message(_ accuracyMetres: Double?, at now: MonotonicInstant) -> [UInt8] {
    let second = Int(now.nanoseconds / 1_000_000_000)
    let (place, velocity) = journey(now)
    var payload = [UInt8](repeating: 0, count: 92)
    func put<Number: FixedWidthInteger>(_ number: Number, at offset: Int) {
      withUnsafeBytes(of: number.littleEndian) { bytes in
        for (index, byte) in bytes.enumerated() { payload[offset + index] = byte }
      }
    }
    let timeOfWeek = UInt32((second + 18) % 604_800 * 1000)
    put(timeOfWeek, at: 0)
    put(UInt16(2026), at: 4)
    put(UInt8(11), at: 6)
    put(UInt8(ScheduledReceiver.firstDay + second / 86_400), at: 7)
    put(UInt8(second / 3600 % 24), at: 8)
    put(UInt8(second / 60 % 60), at: 9)
    put(UInt8(second % 60), at: 10)
    // Date and time are valid and fully resolved.
    put(UInt8(7), at: 11)
    put(UInt32(50), at: 12)
    if let accuracyMetres {
      put(UInt8(3), at: 20)
      put(UInt8(1), at: 21)
      put(UInt8(9), at: 23)
      put(Int32((13.4 + place.y / 67_900) * 1e7), at: 24)
      put(Int32((52.5 + place.x / 111_300) * 1e7), at: 28)
      put(Int32(80_000), at: 32)
      put(Int32(40_000), at: 36)
      put(UInt32(accuracyMetres * 1000), at: 40)
      put(UInt32(accuracyMetres * 1500), at: 44)
      put(Int32(velocity.x * 1000), at: 48)
      put(Int32(velocity.y * 1000), at: 52)
      let speed = (velocity.x * velocity.x + velocity.y * velocity.y).squareRoot()
      put(Int32(speed * 1000), at: 60)
      let track = atan2(velocity.y, velocity.x) * 180 / .pi
      put(Int32((track < 0 ? track + 360 : track) * 1e5), at: 64)
      put(UInt32(300), at: 68)
      put(UInt32(speed > 1 ? 500_000 : 18_000_000), at: 72)
      put(UInt16(150), at: 76)
    } else {
      put(UInt16(9999), at: 76)
    }
    var end: [UInt8] = []
    withUnsafeBytes(of: timeOfWeek.littleEndian) { end += $0 }
    return UBXMessage(UBXKind.navPVT, payload).bytes + UBXMessage(UBXKind.navEOE, end).bytes
  }
}

extension ScheduledReceiver {
  /// The supply line.
  struct Line: GPIOOutput {
    let receiver: ScheduledReceiver

    func set(_ level: Bool) { receiver.supply(level) }
    func close() { receiver.supply(false) }
  }

  /// The serial line, which only one program may open at a time.
  final class Port: SerialPort {
    let name = "receiver"
    private let receiver: ScheduledReceiver

    init(_ receiver: ScheduledReceiver) {
      self.receiver = receiver
      receiver.state.withLock { state in
        (state.bytes, state.isOpen, state.isAwaited) = ([], true, false)
        receiver.signal.clear()
      }
    }

    /// Read before each wait.
    var fileDescriptor: Int32 {
      receiver.state.withLock { $0.isAwaited = $0.bytes.isEmpty }
      return receiver.signal.fileDescriptor
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
      receiver.state.withLock { state in
        receiver.signal.clear()
        let count = min(buffer.count, state.bytes.count)
        buffer.copyBytes(from: state.bytes.prefix(count))
        state.bytes.removeFirst(count)
        if !state.bytes.isEmpty { receiver.signal.raise() }
        return count
      }
    }

    func write(_ bytes: [UInt8]) {}
    func writeNow(_ bytes: ArraySlice<UInt8>) -> Int { bytes.count }
    var unsentCount: Int { 0 }
    func setSpeed(_ speed: BaudRate) {}
    func close() { receiver.state.withLock { $0.isOpen = false } }
  }

  private func supply(_ isOn: Bool) {
    let now = clock.now
    state.withLock { state in
      guard isOn != (state.poweredAt != nil) else { return }
      if isOn {
        // Before its first start the receiver knows nothing.
        let kind = RestartCosts.Kind(after: state.offAt.map { now.seconds(since: $0) } ?? .infinity)
        state.firstFixSeconds = (receiver.seconds[kind] ?? 0) * PowerReceiver.luck(ofFix: fixIndex(now))
        state.poweredAt = now
      } else {
        (state.poweredAt, state.offAt) = (nil, now)
      }
    }
  }
}
