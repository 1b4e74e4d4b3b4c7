import Glibc
import HardwareIO
import MonotonicTime
import Simulation
import TestSupport
import Testing
import VirtualBench

extension HardwareInTheLoop {
  /// The IMU on a real bus, its samples and their timestamps.
  @Suite(
    .serialized, .timeLimit(.minutes(10)), .enabled(if: Bench.isVirtual, "these need devices that can be told to fail"))
  struct IMUTests {
    let board = Bench.board

    /// The kinds of adapter: one with plain I2C, and one with only SMBus.
    @Test(arguments: [false, true]) func `both kinds of I2C adapter give samples`(_ isSMBusOnly: Bool) throws {
      board.unplugIMU()
      setParameter(isSMBusOnly)
      try board.plugInIMU()
      defer {
        board.unplugIMU()
        setParameter(false)
        try? board.plugInIMU()
      }
      let hub = Bench.hub(.init(hasGPS: false))
      let subscriber = Subscriber(hub)
      #expect(subscriber.receives(lineCount: 21), "\(hub.program.standardError)")
      let longest = board.bus?.takeTransfers().map(\.readLength).max() ?? 0
      // An SMBus block has at most 32 bytes, which fits two complete samples.
      #expect(isSMBusOnly ? longest == 24 : longest > 32)
      Bench.saw("\(isSMBusOnly ? "SMBus" : "I2C_RDWR"): longest read \(longest) bytes")
      subscriber.leave()
      #expect(hub.stop() == 0)
    }

    private func setParameter(_ isSMBusOnly: Bool) {
      HubProcess.write(isSMBusOnly ? "1" : "0", to: "/sys/module/i2c_relay/parameters/smbus_only")
    }

    /// The rate is not higher, because this kernel raises simulated interrupts at the next tick of its timer, which runs
    /// at 250 Hz.
    @Test(arguments: [50, 100, 200]) func `samples have the times of the data-ready line's edges`(_ rateHz: Int)
      throws
    {
      let edges = try board.driveDataReady()
      defer { edges.stop() }
      let hub = Bench.hub(.init(imuRateHz: rateHz, usesDataReady: true, hasGPS: false))
      let subscriber = Subscriber(hub)
      try #require(
        eventually(within: .seconds(30)) { subscriber.lineCount >= 200 },
        "\(subscriber.lineCount) states; \(hub.devicesNow["imu"]) \(hub.program.standardError)")
      subscriber.leave()
      #expect(hub.stop() == 0)
      // The difference between the timestamp of each newest sample and the nearest rise of the line.
      let rises = edges.rises.map { (Double($0.lowerBound.nanoseconds) / 1e9, Double($0.upperBound.nanoseconds) / 1e9) }
      let exact = rises.count { $0.1 - $0.0 < 0.001 }
      let errors = subscriber.states.dropFirst(5).compactMap { state -> Double? in
        guard let rates = state.rates else { return nil }
        let sampledAt = state.monotonic - rates.age
        return rises.map { max($0.0 - sampledAt, sampledAt - $0.1, 0) }.min() ?? .infinity
      }.sorted()
      // The comparison is meaningful only if enough rises are known precisely.
      #expect(exact * 2 > rises.count)
      #expect(errors[errors.count * 95 / 100] < 0.001)
      Bench.saw(
        "\(rateHz) Hz, \(errors.count) states, \(exact) of \(rises.count) rises known to the millisecond: 95 % within \(Bench.milliseconds(.seconds(errors[errors.count * 95 / 100]))) "
          + "of an edge, worst \(Bench.milliseconds(.seconds(errors.last ?? 0)))")
    }

    @Test func `at 1 kHz a minute loses no sample, and an overflow is counted and survived`() {
      let hub = Bench.hub(.init(imuRateHz: 1000, hasGPS: false))
      let subscriber = Subscriber(hub)
      #expect(eventually { subscriber.lineCount > 10 })
      let start = MonotonicClock().now
      #expect(eventually(within: .seconds(120)) { MonotonicClock().now - start > .seconds(60) })
      let (taken, lost) = board.imu.samples
      let read = hub.devicesNow["imu"].counters["samples"] ?? 0
      #expect(lost == 0)
      #expect(taken > 60_000)
      // At most one burst is in progress.
      #expect(taken - read <= 85)
      Bench.saw("\(taken) samples into the FIFO, \(lost) lost, \(read) read")
      // The reader is stopped for a second. The FIFO holds 85 samples.
      #expect(hub.program.halt())
      let stopped = MonotonicClock().now
      _ = eventually { MonotonicClock().now - stopped > .seconds(1) }
      hub.program.send(SIGCONT)
      #expect(eventually { hub.devicesNow["imu"].counters["overflows"] == 1 })
      let before = subscriber.lineCount
      #expect(eventually { subscriber.lineCount > before + 20 })
      #expect(hub.devicesNow["imu"].counters["overflows"] == 1)
      Bench.saw("stopped for a second: 1 overflow counted, samples go on")
      subscriber.leave()
      #expect(hub.stop() == 0)
    }
  }
}
