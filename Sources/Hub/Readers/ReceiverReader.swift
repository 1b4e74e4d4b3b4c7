import CLinux
import Devices
import Guarding
import HardwareIO
import MonotonicTime
import NMEA
import Publishing

/// A receiver behind a lazy publisher, with the sentences that it sends.
public final class ReceiverReader: Sendable {
  /// A receiver that has found its position is tracking for so long without another.
  private static let fixLifetime = Duration.seconds(10)

  public let device: DeviceReader<GNSSObservation>
  /// Of its line, as the board file says or as it was found out; `nil` before that.
  public let speed: Property<BaudRate?>
  private let tap: SentenceTap

  public var monitor: DeviceMonitor { device.monitor }

  /// Has the sentences handed on as they come, some whole ones at a time, line ends included, while the receiver is read.
  /// Powers nothing.
  func forwardSentences(to receive: @escaping @Sendable ([UInt8]) -> Void) -> Subscription { tap.add(receive) }

  init(_ description: ReceiverDescription, on machine: Machine) {
    let counted = Guarded(NMEAReceiver.Counters())
    let tap = SentenceTap()
    self.tap = tap
    let foundSpeed = MutableProperty(description.speed)
    speed = foundSpeed.readOnly
    let (hardware, clock) = (machine.hardware, machine.clock)
    device = DeviceReader(
      description.id, .receiver, title: "GPS on \(description.port)", power: description.power, replaysLatest: true,
      on: machine
    ) { (scope) throws(HardwareError) in
      let port = try hardware.serialPort(description.port, speed: description.speed ?? .b9600)
      // Closed before the supply goes: a receiver without supply must not be fed through its data lines.
      defer { port.close() }
      scope.acquiring()
      let before = counted.withLock { $0 }
      var hasFix = false
      var lastFixAt = scope.suppliedSince
      func note(isFix: Bool) {
        if isFix { lastFixAt = clock.now }
        if isFix == hasFix { return }
        hasFix = isFix
        if isFix { scope.tracking() } else { scope.acquiring() }
      }
      let receiver = NMEAReceiver(
        port: port, poller: scope.poller, clock: clock,
        report: { counters in
          counted.withLock { $0 = before + counters }
          // What is read need not be epochs any more.
          if hasFix, clock.now - lastFixAt > ReceiverReader.fixLifetime { note(isFix: false) }
        },
        forward: {
          let listeners = tap.present
          if listeners.isEmpty { return nil }
          return { bytes in
            let bytes = Array(bytes)
            for listener in listeners { listener.receive(bytes) }
          }
        })
      var confirmation = TimeConfirmation(switchedOnAt: scope.suppliedSince)
      func receive(_ observation: borrowing GNSSObservation) {
        let isFix = observation.fix.mode >= .twoDimensional
        note(isFix: isFix)
        var observation = copy observation
        let system = clinux_realtime_ns()
        let eras = observation.carryWeeksForward(system: system)
        if eras > 0, isFix {
          scope.remark("its count of weeks has run over: dates are carried \(1024 * eras) weeks forward")
        }
        observation.isTimeConfirmed = confirmation.take(
          observation.fix.time, isFix: isFix, at: observation.at, system: system)
        scope.send(observation)
      }
      guard let speed = try receiver.findSpeed(description.speed, receive: receive) else { return }
      if foundSpeed.value != speed { foundSpeed.value = speed }
      try receiver.run(receive: receive)
    }
    device.monitor.count { counted.withLock { $0.list } }
  }
}

/// Who gets the sentences, while somebody does.
private final class SentenceTap: Sendable {
  final class Listener: Sendable {
    let receive: @Sendable ([UInt8]) -> Void

    init(_ receive: @escaping @Sendable ([UInt8]) -> Void) { self.receive = receive }
  }

  private let listeners = Guarded<[Listener]>([])

  var present: [Listener] { listeners.withLock { $0 } }

  func add(_ receive: @escaping @Sendable ([UInt8]) -> Void) -> Subscription {
    let listener = Listener(receive)
    listeners.withLock { $0.append(listener) }
    return Subscription { [self] in listeners.withLock { $0.removeAll { $0 === listener } } }
  }
}

extension GNSSObservation {
  /// Mends its times, if the receiver's weeks have run over; returns how many times they have.
  fileprivate mutating func carryWeeksForward(system: Int64) -> Int64 {
    guard let time = fix.time, case let eras = WeekRollover.eras(behind: time, system: system), eras > 0 else {
      return 0
    }
    fix.time = WeekRollover.carry(time, by: eras)
    if let time = errorStatistics?.time { errorStatistics?.time = WeekRollover.carry(time, by: eras) }
    return eras
  }
}

extension NMEAReceiver.Counters {
  var list: [DeviceStatus.Counter] {
    [
      .init("sentences", sentences), .init("badChecksum", badChecksum), .init("truncated", truncated),
      .init("unknown", unknown), .init("epochs", epochs),
    ]
  }
}
