import Devices
import Fusion
import Guarding
import HardwareIO
import MonotonicTime
import Publishing

public typealias IMUReader = DeviceReader<IMUBatch>

extension DeviceReader where Sample == IMUBatch {
  /// A reader of an inertial sensor. It empties the sensor's FIFO in bursts.
  convenience init(_ description: IMUDescription, on machine: Machine) {
    let place = description.place
    // The limit of the wait for an edge is the time of two samples, so an edge that is a little late is not missed.
    let edgeLimit = Duration.nanoseconds(Int64(2e9 / description.rateHz))
    // The tolerated number of consecutive bursts without samples. A burst that waits for a missing edge takes as long
    // as `edgeLimit`. The total is 0.4 s, or five bursts if they take longer. The fused attitude bridges a pause of
    // this length, and then another sensor may take over.
    let burstInterval = Duration.nanoseconds(Int64(1e9 / description.burstRateHz))
    let burstSeconds = max(burstInterval.inSeconds, description.dataReady == nil ? 0 : edgeLimit.inSeconds)
    let patience = max(5, Int(0.4 / burstSeconds))
    let counted = Guarded(InertialCounters())
    // The detector outlasts a run, because a chip that is still stuck after a restart shows no other symptom.
    let repetition = Guarded(RepetitionDetector())
    let (hardware, clock) = (machine.hardware, machine.clock)
    let arbiter = ChipArbiter()
    self.init(
      description.id, .imu, title: "IMU at \(place)", power: description.power, on: machine,
      check: { () throws(HardwareError) in
        if let line = description.dataReady {
          try hardware.gpioEdges(line, falling: description.chip.dataReadyFalls).close()
        }
        try hardware.i2cBus(place.bus).claim(place.address)
      },
      putToSleep: { () throws(HardwareError) in
        try description.chip.sleep(on: try hardware.i2cBus(place.bus), address: place.address)
      },
      onHang: { arbiter.readerHangs() },
      motion: { StillnessMonitor(description, arbiter, $0, $1, $2, on: machine) }
    ) { (scope) throws(HardwareError) in
      guard try arbiter.take(scope.poller, clock: machine.supervisor.clock) else { return }
      var end = ChipArbiter.ReadingEnd.failed
      defer { arbiter.giveBack(after: end) }
      let edges = try description.dataReady.map { (line) throws(HardwareError) in
        try hardware.gpioEdges(line, falling: description.chip.dataReadyFalls)
      }
      defer { edges?.close() }
      let bus = try hardware.i2cBus(place.bus)
      try bus.claim(place.address)
      let driver = description.chip.driver(
        ChipConnection(
          bus: bus, address: place.address, dataReady: edges, clock: clock,
          pause: { [poller = scope.poller] in poller.pause($0) }),
        description.configuration)
      // The chip's own sleep mode serves boards that cannot switch its supply.
      defer { driver.stop() }
      scope.acquiring()
      try driver.start()
      scope.woke()
      let before = counted.withLock { $0 }
      // The kernel's timer uses the kernel's clock, whatever clock was injected.
      let timer = try IntervalTimer(every: burstInterval, from: MonotonicClock().now)
      var batch = IMUBatch()
      var silence = SilenceLimit(looks: patience, every: burstInterval)
      while try scope.poller.wait(for: timer) {
        _ = timer.takeExpirations()
        // If the chip does not signal its samples, waiting for an edge would only delay them.
        if let edges, driver.signalsSamples {
          // Discard edges that have waited, because they are old. If the line is silent, the chip is still read after
          // the limit.
          _ = try edges.takeEdges()
          if scope.poller.wait(for: edges.fileDescriptor, atMost: edgeLimit) == .stopped { break }
        }
        try driver.read(into: &batch)
        batch.readAt = clock.now
        counted.withLock { $0 = before + driver.counters }
        let isStuck = repetition.withLock { $0.isStuck(after: batch) }
        guard batch.count > 0, !isStuck else {
          guard silence.isReached(afterEmptyLookAt: batch.readAt) else { continue }
          // A chip that was reset sleeps, and a hung bus reads all zeros or ones. Both answer for ever.
          let symptom = isStuck ? "repeats one identical sample" : "no longer measures"
          throw .unexpectedDevice("the IMU at \(place) answers, but \(symptom); restarting it")
        }
        silence.reset()
        scope.tracking()
        scope.send(batch)
      }
      end = .orderly
    }
    monitor.count {
      let counters = counted.withLock { $0 }
      return [
        .init("samples", counters.samples), .init("overflows", counters.overflows),
        .init("misreads", counters.misreads),
      ]
    }
  }
}

extension RepetitionDetector {
  /// Checks a batch.
  ///
  /// - Returns: whether its last sample repeats the previous ones
  fileprivate mutating func isStuck(after batch: borrowing IMUBatch) -> Bool {
    var isStuck = isStuck
    for index in 0..<batch.count {
      isStuck = update(
        gyroscope: SIMD3<Double>(batch[index].gyroscope), accelerometer: SIMD3<Double>(batch[index].accelerometer))
    }
    return isStuck
  }
}
