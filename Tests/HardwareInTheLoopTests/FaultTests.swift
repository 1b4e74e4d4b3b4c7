import Glibc
import HardwareIO
import MonotonicTime
import Simulation
import TestSupport
import Testing
import VirtualBench

extension HardwareInTheLoop {
  /// Devices that disappear, stall and return.
  @Suite(
    .serialized, .timeLimit(.minutes(10)), .enabled(if: Bench.isVirtual, "these need devices that can be told to fail"))
  struct FaultTests {
    let board = Bench.board

    /// Makes a device fail fifty times. Checks that the hub reports the cause, recovers, and leaks nothing.
    private func failFiftyTimes(
      _ id: String, of settings: Bench.Settings, line: LineHistory, fail: (Int) throws -> String,
      restore: (Int) throws -> Void
    ) rethrows {
      let clock = MonotonicClock()
      let hub = Bench.hub(settings)
      let subscriber = Subscriber(hub)
      let isTracking = { hub.devicesNow[id].power == "tracking" }
      #expect(eventually { isTracking() })
      var recoveries: [Duration] = []
      // The first round starts the retry thread, which never ends.
      var before: [Int] = []
      for round in 0..<50 {
        if round == 5 { before = hub.resources }
        let reason = try fail(round)
        #expect(
          eventually(within: .seconds(30)) {
            let device = hub.devicesNow[id]
            return device.power == "failed" && device.reason.contains(reason)
          }, "\(reason): \(hub.devicesNow[id])")
        try restore(round)
        let restored = clock.now
        #expect(eventually(within: .seconds(30)) { isTracking() })
        recoveries.append(clock.now - restored)
        subscriber.forget()
      }
      #expect(
        eventually { zip(hub.resources, before).allSatisfy { $0 <= $1 } }, "\(before) became \(hub.resources)")
      recoveries.sort()
      // All rounds except a few must pass, because an interrupted round says nothing about the hub.
      #expect(recoveries[45] < .seconds(2))
      Bench.saw(
        "50 times: recovery median \(Bench.milliseconds(recoveries[25])), worst \(Bench.milliseconds(recoveries[49])); "
          + "threads and descriptors as before")
      subscriber.leave()
      #expect(hub.stop() == 0)
      #expect(eventually { !line.isHigh })
    }

    @Test func `the error for a missing GPIO chip lists the existing ones`() {
      let error = #expect(throws: HardwareError.self) {
        try LinuxGPIOOutput(GPIOLineName(chip: "no-such-chip", line: "0"), activeLow: false, safeLevel: false)
      }
      let text = error.map { "\($0)" } ?? ""
      #expect(text.contains("there is no GPIO chip 'no-such-chip' among gpiochip"), "\(text)")
      #expect(text.contains(" (bench)"), "\(text)")
      let byPath = #expect(throws: HardwareError.self) {
        try LinuxGPIOOutput(GPIOLineName(chip: "/dev/gpiochip99", line: "0"), activeLow: false, safeLevel: false)
      }
      #expect(byPath.map { "\($0)".contains("'/dev/gpiochip99' among ") } == true, "\(byPath as Any)")
    }

    @Test func `a tty that disappears and returns fifty times fails with a reason and recovers each time`() throws {
      try failFiftyTimes(
        "gps", of: .init(hasIMU: false), line: board.gpsLine,
        fail: { _ in
          board.unplugReceiver()
          return board.gpsPath
        },
        restore: { _ in try board.plugInReceiver() })
    }

    @Test func `an I2C device that does not answer, stalls or vanishes fifty times recovers each time`() throws {
      try failFiftyTimes(
        "imu", of: .init(hasGPS: false), line: board.imuLine,
        fail: { round in
          switch round % 5 {
          case 0: board.imu.inject(.noAcknowledge); return "no answer from address 0x68"
          case 1: board.imu.inject(.timeOut); return "did not answer in time"
          case 2: board.imu.inject(.arbitrationLost); return "lost arbitration"
          case 3: board.bus?.setStalled(true); return "did not answer in time"
          default: board.unplugIMU(); return board.imuPath
          }
        },
        restore: { round in
          board.imu.inject(nil)
          board.bus?.setStalled(false)
          if round % 5 == 4 { try board.plugInIMU() }
        })
    }

    @Test func `a second hub on the same tty reports which program uses it`() {
      let first = Bench.hub(.init(hasIMU: false))
      let holder = Subscriber(first)
      #expect(eventually { first.devicesNow["gps"].power == "tracking" })
      // The second hub has no power line. The two hubs share only the tty.
      let second = HubProcess(
        board: "{ name: \"second\", devices: { gps: { driver: \"nmea\", port: \"\(board.gpsPath)\", speed: 9600 } } }")
      let other = Subscriber(second)
      let reason = "in use by sensorhub (pid \(first.program.pid))"
      #expect(eventually { second.devicesNow["gps"].reason.contains(reason) }, "\(second.devicesNow["gps"].reason)")
      Bench.saw("second hub: \(second.devicesNow["gps"].reason)")
      #expect(first.devicesNow["gps"].power == "tracking")
      for subscriber in [holder, other] { subscriber.leave() }
      #expect(second.stop() == 0)
      #expect(first.stop() == 0)
    }

    @Test func `a second hub leaves a chip alone that another hub reads`() {
      let first = Bench.hub(.init(hasGPS: false))
      let holder = Subscriber(first)
      #expect(eventually { first.devicesNow["imu"].power == "tracking" })
      // The second hub has no switch for the chip, and would put it to sleep at its start.
      let second = HubProcess(
        board: "{ name: \"second\", devices: { imu: { driver: \"mpu-6050\", bus: \"\(board.imuPath)\" } } }")
      let reason = "0x68 on \(board.imuPath) is in use by sensorhub"
      #expect(second.logs(reason), "\(second.program.standardError)")
      let other = Subscriber(second)
      #expect(eventually { second.devicesNow["imu"].reason.contains(reason) }, "\(second.devicesNow["imu"].reason)")
      Bench.saw("second hub: \(second.devicesNow["imu"].reason)")
      let samples = first.devicesNow["imu"].counters["samples"] ?? 0
      #expect(eventually { first.devicesNow["imu"].counters["samples"] ?? 0 > samples + 100 })
      #expect(first.devicesNow["imu"].wakes == 1)
      for subscriber in [holder, other] { subscriber.leave() }
      #expect(second.stop() == 0)
      #expect(first.stop() == 0)
    }

    @Test func `a thousand visits with random faults of six devices of five kinds on two rails leave nothing behind`()
      throws
    {
      let hub = Bench.hub(.init(hasOthers: true))
      var random = SeededRandom()
      // The first visits create resources that stay: buffers, the allocator's arenas, and the retry thread.
      for _ in 0..<50 { try visit(hub, fault: nil, patience: 20, &random) }
      board.imu.inject(.noAcknowledge)
      let unlucky = Subscriber(hub)
      #expect(eventually { hub.devicesNow["imu"].reason.contains("no answer from address") })
      board.imu.inject(nil)
      #expect(eventually { hub.devicesNow["imu"].power == "tracking" })
      unlucky.leave()
      #expect(eventually { !board.gpsLine.isHigh && !board.imuLine.isHigh })
      #expect(eventually { hub.isOff })
      let before = (resources: hub.resources, memory: residentKilobytes(hub))
      let faults: [Fault?] = [nil, nil, nil, .noAcknowledge, .timeOut, .receiverUnplugged, .imuUnplugged, .readerHangs]
      for number in 0..<1000 {
        // Now and then a hang lasts until the hub notices it.
        let isLong = number % 100 == 99
        let fault = isLong ? .readerHangs : faults.randomElement(using: &random) ?? nil
        try visit(hub, fault: fault, patience: isLong ? 6000 : 100, &random)
      }
      // Waits until the hub has noticed that the last client left. A failed device is retried as long as it has a
      // holder.
      let isOver = eventually {
        hub.devicesNow.devices.allSatisfy { ["off", "failed"].contains($0.power) && $0.holders.isEmpty }
      }
      #expect(isOver, "\(hub.devicesNow)")
      #expect(eventually { !board.gpsLine.isHigh && !board.imuLine.isHigh })
      #expect(eventually { hub.openDevices.isEmpty }, "\(hub.openDevices)")
      #expect(
        eventually { zip(hub.resources, before.resources).allSatisfy { $0 <= $1 } },
        "\(before.resources) became \(hub.resources)")
      // The receiver's consumption has been measured in every visit that was long enough.
      #expect(hub.devicesNow["gps"].measuredMilliwattHours > 0)
      let memory = residentKilobytes(hub)
      #expect(memory - before.memory < 2048)
      Bench.saw(
        "1000 visits to \(hub.devicesNow.devices.count) devices: lines low, \(board.gpsLine.rises.count + board.imuLine.rises.count) rises; threads and descriptors "
          + "\(before.resources) became \(hub.resources), resident \(before.memory) kB became \(memory) kB")
      #expect(hub.stop() == 0)
    }

    private enum Fault { case noAcknowledge, timeOut, receiverUnplugged, imuUnplugged, readerHangs }

    private func visit(
      _ hub: HubProcess, fault: Fault?, patience: Int, _ random: inout SeededRandom
    ) throws {
      let subscriber = Subscriber(hub)
      wait(milliseconds: Int.random(in: 0...patience, using: &random))
      var held: HeldThread?
      switch fault {
      case .readerHangs: held = HeldThread(Bool.random(using: &random) ? "imu" : "gps", of: hub.program)
      case .noAcknowledge: board.imu.inject(.noAcknowledge)
      case .timeOut: board.imu.inject(.timeOut)
      case .receiverUnplugged: board.unplugReceiver()
      case .imuUnplugged: board.unplugIMU()
      case nil: break
      }
      wait(milliseconds: Int.random(in: 0...patience, using: &random))
      if Bool.random(using: &random) { subscriber.leave() }
      held?.letGo()
      board.imu.inject(nil)
      if fault == .receiverUnplugged { try board.plugInReceiver() }
      if fault == .imuUnplugged { try board.plugInIMU() }
      subscriber.leave()
    }

    /// Waits for a random time, so that faults occur at different points of the hub's activity.
    private func wait(milliseconds: Int) { _ = poll(nil, 0, Int32(milliseconds)) }

    private func residentKilobytes(_ hub: HubProcess) -> Int {
      let status = (try? Files.bytes(of: "/proc/\(hub.program.pid)/status")) ?? []
      let line = String(decoding: status, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
      return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
    }
  }
}
