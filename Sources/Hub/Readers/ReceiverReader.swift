import Devices
import Guarding
import HardwareIO
import MonotonicTime
import NMEA
import Publishing

/// A receiver as a lazy publisher, with its output, its line's speed, its identity and its corrections.
public final class ReceiverReader: Sendable {
  public let device: DeviceReader<GNSSObservation>
  /// The speed of the receiver's line, from the board file or found by listening; `nil` before the speed is found.
  public let speed: Property<BaudRate?>
  /// The receiver's identity; `nil` if it has sent only sentences and has not answered a request for its identity.
  public let identity: Property<ReceiverIdentity?>
  public let corrections: ReceiverCorrections
  /// The fusion's doubt about the receiver's position, while the receiver repeats one position although the inertial
  /// sensors measure motion.
  let receiverHealth: ReceiverHealth
  /// The counts of the output in all runs.
  let counters: Property<ReceiverDecoder.Counters>
  private let outputSubject: OutputSubject<ReceivedBytes>
  private let rawSubject: OutputSubject<[UInt8]>
  /// Lets clients write to the receiver's line; `nil` for a recorded receiver.
  let bridge: ReceiverBridge?

  public var monitor: DeviceMonitor { device.monitor }

  /// Passes on sentences and messages as they arrive, while the receiver is read. Powers nothing.
  func forwardBytes(to receive: @escaping @Sendable (ReceivedBytes) -> Void) -> Subscription {
    outputSubject.add(receive)
  }

  /// Passes on every byte as received, while the receiver is read. Powers nothing.
  func forwardRawBytes(to receive: @escaping @Sendable ([UInt8]) -> Void) -> Subscription { rawSubject.add(receive) }

  /// A recorded receiver.
  init(
    _ device: DeviceReader<GNSSObservation>, speed: Property<BaudRate?>, _ identification: ReceiverIdentification,
    outputSubject: OutputSubject<ReceivedBytes>, _ counted: ReceiverCounters
  ) {
    self.device = device
    counters = counted.changes
    self.speed = speed
    self.outputSubject = outputSubject
    receiverHealth = ReceiverHealth()
    identity = identification.present
    corrections = ReceiverCorrections()
    rawSubject = OutputSubject()
    bridge = nil
  }

  init(_ description: ReceiverDescription, on machine: Machine) {
    let counted = ReceiverCounters()
    counters = counted.changes
    let outputSubject = OutputSubject<ReceivedBytes>()
    self.outputSubject = outputSubject
    let rawSubject = OutputSubject<[UInt8]>()
    self.rawSubject = rawSubject
    let identification = ReceiverIdentification()
    identity = identification.present
    let receiverHealth = ReceiverHealth(reportInterval: description.settings.reportInterval)
    self.receiverHealth = receiverHealth
    let corrections = ReceiverCorrections()
    self.corrections = corrections
    let bridge = ReceiverBridge(with: corrections.queue, clock: machine.clock)
    self.bridge = bridge
    let foundSpeed = MutableProperty(description.speed)
    speed = foundSpeed.readOnly
    let (hardware, clock) = (machine.hardware, machine.clock)
    let configuration = description.configuration
    let memory = ReceiverMemory()
    let keeping = KnowledgeKeeping(of: description.id, on: machine)
    device = DeviceReader(
      description.id, .receiver, title: "GPS on \(description.port)", power: description.power, replaysLatest: true,
      patience: ReceiverPatience.patience(with: description.port), on: machine,
      check: { () throws(HardwareError) in try hardware.checkSerialPort(description.port) },
      putToSleep: { () throws(HardwareError) in
        try hardware.makeSafe(serialPort: description.port)
        guard configuration.sleepsSupplied else { return }
        let port = try hardware.serialPort(description.port, speed: description.speed ?? .b9600)
        defer { port.close() }
        try SleepAttempt(configuration).perform(on: port, clock: clock)
      },
      sleepLimit: configuration.sleepLimit
    ) { (scope) throws(HardwareError) in
      defer { bridge.readingEnded() }
      var suppliedSince = scope.suppliedSince
      if memory.wakesBySupplyAlone(suppliedSince: suppliedSince) {
        guard let since = try scope.cycleSupply() else { return }
        suppliedSince = since
      }
      let port = try hardware.serialPort(description.port, speed: description.speed ?? .b9600)
      // The port is closed before the supply goes off, because a receiver without supply must not be fed through its
      // data lines.
      defer { port.close() }
      port.expectReports(every: description.settings.rateHz.map { .nanoseconds(Int64(1e9 / $0)) })
      // An open line counts, because a receiver may be silent until the hub has found its speed.
      scope.woke()
      scope.acquiring()
      let run = ReceiverRun(
        suppliedAt: suppliedSince,
        remembers: description.remembers, on: machine, scope.monitor)
      let host = ReceiverSessionHost(copy scope, run, identification, corrections, counted)
      let receiver = SerialReceiver(
        port: port, poller: scope.poller, clock: clock, report: { host.look($0) },
        forward: { outputSubject.forward() }, forwardRaw: { rawSubject.forward() }, corrections: corrections.queue,
        bridge: bridge, reportInterval: description.settings.reportInterval)
      let session = ReceiverSession(
        configuration, memory, receiver, suppliedSince: suppliedSince, receiverHealth: receiverHealth,
        keeping: keeping, delegate: host)
      // Every exit path reports whether the receiver stays awake.
      var isAsleep = false
      defer {
        if configuration.sleepsSupplied {
          scope.ended(isAsleep: isAsleep, as: session.rest, for: session.sleepLimit)
        }
      }
      do throws(HardwareError) {
        while let speed = try session.start() {
          if foundSpeed.value != speed { foundSpeed.value = speed }
          guard try corrections.fetched(for: scope.monitor, while: { () throws(HardwareError) in try session.run() })
          else { break }
          // No corrections are fetched while a client writes. Afterwards the receiver is found and configured again.
          guard try session.relay() else { break }
        }
      } catch {
        isAsleep = session.endFailed()
        throw error
      }
      isAsleep = try session.end()
    }
    // A driver that takes commands tries other speeds too.
    device.monitor.health.listens(
      on: description.port, isSpeedFixed: description.speed != nil && !configuration.driver.takesCommands,
      reportInterval: description.settings.reportInterval)
    device.monitor.health.isSimulated(hardware.isSimulated(description.port))
    device.monitor.count { counted.present.list }
  }
}

/// How long a receiver's reader may stay in one call to the system before it counts as hanging.
private enum ReceiverPatience {
  static func patience(with port: String) -> Duration {
    // Without an answer, the look-up of a host's name takes 5 s for each server, attempt and domain of resolv.conf.
    if NetworkSource(port) != nil { return .seconds(120) }
    // Switching a modem's receiver on takes several seconds.
    if ModemPortName.isMeant(by: port) { return .seconds(30) }
    // On a blocked line, each write takes a second.
    return .seconds(3)
  }
}
