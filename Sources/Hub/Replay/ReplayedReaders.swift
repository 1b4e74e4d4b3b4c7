import Devices
import Guarding
import HardwareIO
import MonotonicTime
import Publishing

extension DeviceReader {
  /// A reader that plays a recording instead of reading a device.
  ///
  /// - Parameters:
  ///   - begin: called at each beginning of the device's supply; returns the run that takes the device's messages until
  ///     the supply ends
  convenience init<Message>(
    replaying id: String, _ kind: DeviceStatus.Kind, title: String, power: Board.Power, replaysLatest: Bool = false,
    from port: ReplayPort<Message>, on machine: Machine,
    begin: @escaping @Sendable (DeviceMonitor, ActivationContext<Sample, HardwareError>) -> any ReplayRun<Message>
  ) {
    let rail = machine.rail(of: .none)
    let monitor = DeviceMonitor(
      id: id, kind: kind, title: title, power: power.withoutRest, rail: rail, clock: machine.clock)
    let source = LazyPublisher<Sample, HardwareError>(
      deriving: id, replaysLatest: replaysLatest, clock: machine.clock, holderObserver: monitor
    ) { (run) throws(HardwareError) in
      let scope = ReplayScope(monitor) { begin(monitor, run) }
      if port.isSupplied { scope.begin() }
      let events = port.events.subscribe(
        as: run.holders,
        receiveValue: { event in
          switch event {
          case .began: scope.begin()
          case .message(let message): scope.take(message)
          case .ended: scope.end()
          }
        })
      return Subscription {
        events.cancel()
        scope.end()
      }
    }
    self.init(source, monitor, rail, replaysLatest: replaysLatest, on: machine, hasSupply: false)
  }
}

extension DeviceReader {
  /// A reader of recorded samples of any kind.
  ///
  /// - Parameter samples: the number of samples in a message
  convenience init(
    replaying description: DeviceDescription, _ kind: DeviceStatus.Kind, from port: ReplayPort<Sample>,
    on machine: Machine, counting samples: @escaping @Sendable (Sample) -> Int = { _ in 1 }
  ) {
    let count = Guarded(0)
    self.init(
      replaying: description.id, kind, title: "recorded \(kind.rawValue)", power: description.power, from: port,
      on: machine
    ) { monitor, run in
      ReplayedSamples(monitor, run) { sample in count.withLock { $0 += samples(sample) } }
    }
    monitor.count { [.init("samples", count.withLock { $0 })] }
  }
}

extension ReceiverReader {
  /// A reader of recorded sentences, which are processed like those of a receiver.
  convenience init(
    replaying description: ReceiverDescription, _ port: ReplayPort<ReceivedBytes>, on machine: Machine
  ) {
    let (counted, identification, outputSubject) = (
      ReceiverCounters(), ReceiverIdentification(), OutputSubject<ReceivedBytes>()
    )
    let device = DeviceReader<GNSSObservation>(
      replaying: description.id, .receiver, title: "recorded GPS", power: description.power, replaysLatest: true,
      from: port, on: machine
    ) { monitor, run in
      ReplayedReceiver(
        monitor, run, remembers: description.remembers, counted: counted, identification, outputSubject: outputSubject,
        on: machine)
    }
    device.monitor.health.isSimulated(machine.hardware.isSimulated(description.port))
    device.monitor.count { counted.present.list }
    self.init(
      device, speed: MutableProperty(description.speed).readOnly, identification, outputSubject: outputSubject, counted)
  }
}
