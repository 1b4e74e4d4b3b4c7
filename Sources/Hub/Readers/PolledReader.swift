import Devices
import Guarding
import HardwareIO
import MonotonicTime
import Publishing

public typealias MagnetometerReader = DeviceReader<MagnetometerSample>
public typealias BarometerReader = DeviceReader<BarometerSample>
public typealias SupplyMonitorReader = DeviceReader<SupplySample>

extension DeviceReader where Sample: PlacedSample {
  /// A reader of a sensor that gives one measurement per request.
  ///
  /// - Parameter title: the kind of sensor for people, for example `magnetometer`
  convenience init(
    _ description: PolledDescription<Sample>, _ kind: DeviceStatus.Kind, title: String, on machine: Machine
  ) {
    let (hardware, clock, place) = (machine.hardware, machine.clock, description.place)
    let samples = Guarded(0)
    let looks = description.chip.looksPerSample
    let interval = Duration.nanoseconds(Int64(1e9 / (description.rateHz * Double(looks))))
    // The tolerated number of consecutive reads without a sample: those in the time of 20 samples, or in half a second
    // at fast rates.
    let patience = looks * max(20, Int(0.5 * description.rateHz))
    self.init(
      description.id, kind, title: "\(title.prefix(1).uppercased())\(title.dropFirst()) at \(place)",
      power: description.power, on: machine,
      check: { () throws(HardwareError) in try hardware.i2cBus(place.bus).claim(place.address) },
      putToSleep: { () throws(HardwareError) in
        try description.chip.sleep(on: try hardware.i2cBus(place.bus), address: place.address)
      }
    ) { (scope) throws(HardwareError) in
      let bus = try hardware.i2cBus(place.bus)
      try bus.claim(place.address)
      let driver = description.chip.driver(
        ChipConnection(
          bus: bus, address: place.address, clock: clock,
          pause: { [poller = scope.poller] in poller.pause($0) }),
        description.configuration)
      // The chip's own sleep mode serves boards that cannot switch its supply.
      defer { driver.stop() }
      scope.acquiring()
      try driver.start()
      scope.woke()
      // The kernel's timer uses the kernel's clock, whatever clock was injected.
      let timer = try IntervalTimer(every: interval, from: MonotonicClock().now)
      var silence = SilenceLimit(looks: patience, every: interval)
      var warning: String?
      var isFirst = true
      while try scope.poller.wait(for: timer) {
        _ = timer.takeExpirations()
        guard let sample = try driver.read() else {
          guard silence.isReached(afterEmptyLookAt: clock.now) else { continue }
          throw .unexpectedDevice(
            "the \(title) at \(place) answers, but no longer measures; restarting it")
        }
        silence.reset()
        samples.withLock { $0 += 1 }
        scope.tracking()
        let present = sample.warning(description.placement, before: warning)
        // The warning of the previous run holds until the first sample.
        if Sample.warns(description.placement), isFirst || present != warning {
          scope.monitor.alarm(.supply, present)
          scope.monitor.setWarning(about: .supply, present)
        }
        (isFirst, warning) = (false, present)
        scope.send(sample)
      }
    }
    monitor.count { [.init("samples", samples.withLock { $0 })] }
  }
}
