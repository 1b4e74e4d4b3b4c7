import CLinux
import Glibc
import HardwareIO
import MonotonicTime
import Simulation
import TestSupport
import Testing
import VirtualBench

/// All tests that use the bench's devices, one at a time.
@Suite(.serialized, .enabled(if: Bench.isHere, "not on the bench: make hil runs these")) enum HardwareInTheLoop {}

extension HardwareInTheLoop {
  /// Power follows demand, observed on the lines.
  @Suite(.serialized, .timeLimit(.minutes(10))) struct PowerTests {
    let gpsLine = Bench.gpsLine
    let imuLine = Bench.imuLine

    @Test func `the power is off before a client subscribes, on within 50 ms, and off after the idle timeout`() {
      let hub = Bench.hub(.init(idleTimeout: 0.5))
      #expect(hub.isOff)
      #expect(gpsLine.all.isEmpty && imuLine.all.isEmpty, "a line rose without a client")
      var onDelays: [Duration] = []
      var offDelays: [Duration] = []
      for round in 1...5 {
        let subscribed = MonotonicClock().now
        let subscriber = Subscriber(hub)
        for line in [gpsLine, imuLine] {
          #expect(line.waits { $0.rises.count == round })
          if let rise = line.rises.last { onDelays.append(rise - subscribed) }
        }
        let left = MonotonicClock().now
        subscriber.leave()
        for line in [gpsLine, imuLine] {
          #expect(line.waits { $0.falls.count == round })
          if let fall = line.falls.last { offDelays.append(fall - left) }
        }
      }
      // The median is used because an interrupted round says nothing about the hub.
      onDelays.sort()
      offDelays.sort()
      #expect(onDelays[5] < .milliseconds(50))
      #expect(offDelays[0] > .milliseconds(490) && offDelays[5] < .milliseconds(750))
      Bench.saw(
        "rise \(Bench.milliseconds(onDelays[5])) after the subscription (median of 10, latest "
          + "\(Bench.milliseconds(onDelays[9]))), fall \(Bench.milliseconds(offDelays[5])) after its end, linger 500 ms"
      )
      #expect(hub.stop() == 0)
    }

    enum Ending: String, CaseIterable {
      case terminated, interrupted, killed, crashedReadingGPS, crashedReadingIMU

      func apply(to hub: HubProcess) {
        switch self {
        case .terminated: hub.program.send(SIGTERM)
        case .interrupted: hub.program.send(SIGINT)
        case .killed: hub.program.send(SIGKILL)
        // Sends the reader's thread the signal that a trap in its code would cause.
        case .crashedReadingGPS: signalThread("gps", of: hub)
        case .crashedReadingIMU: signalThread("imu", of: hub)
        }
      }

      private func signalThread(_ name: String, of hub: HubProcess) {
        for task in Files.names(in: "/proc/\(hub.program.pid)/task").compactMap(Int32.init)
        where Files.commandName(ofProcess: task) == name {
          _ = clinux_signal_thread(hub.program.pid, task, SIGILL)
        }
      }
    }

    @Test(arguments: Ending.allCases) func `the power is off when the hub has ended`(_ ending: Ending) {
      let hub = Bench.hub(.init(idleTimeout: 5))
      let subscriber = Subscriber(hub)
      #expect(subscriber.receives { $0.mode == "fused" })
      #expect(gpsLine.isHigh && imuLine.isHigh)
      let ended = MonotonicClock().now
      ending.apply(to: hub)
      let code = hub.program.wait()
      #expect(code == (ending == .terminated || ending == .interrupted ? 0 : ending == .killed ? -SIGKILL : -SIGILL))
      // The lines are no longer driven, and those of the virtual board keep their level.
      if Bench.isVirtual, code != 0 { #expect(gpsLine.isHigh && imuLine.isHigh) }
      // The unit's ExecStopPost= runs this command after every end.
      let safe = Program(["safe", hub.boardFile])
      #expect(safe.wait() == 0, "\(safe.standardError)")
      #expect(gpsLine.goesLow() && imuLine.goesLow())
      if let fall = gpsLine.falls.last {
        Bench.saw("\(ending.rawValue): exit \(code), lines low \(Bench.milliseconds(fall - ended)) after it")
      }
    }

    @Test func `lines that a killed hub left on go off even if the board file has changed`() {
      let hub = Bench.hub(.init(idleTimeout: 5))
      let subscriber = Subscriber(hub)
      #expect(subscriber.receives { $0.mode == "fused" })
      #expect(hub.stop(SIGKILL) == -SIGKILL)
      HubProcess.write("{ name: \"nothing\" }", to: hub.boardFile)
      let safe = Program(["safe", "--socket", hub.socket, hub.boardFile])
      #expect(safe.wait() == 0, "\(safe.standardError)")
      #expect(gpsLine.goesLow() && imuLine.goesLow())
      Bench.saw("killed, with another board file: lines low after sensorhub safe")
    }

    enum Cancellation: String, CaseIterable {
      case clientCloses, clientDies, clientLeavesWhileSettling, clientLeavesWhileTheReceiverIsSilent
      case boardIsReadAgain, allLeaveAtOnce

      /// A real receiver cannot be made silent.
      static var possible: [Cancellation] {
        allCases.filter { Bench.isVirtual || $0 != .clientLeavesWhileTheReceiverIsSilent }
      }
    }

    @Test(arguments: Cancellation.possible) func `the power is off after every way of losing the last client`(
      _ cancellation: Cancellation
    ) {
      var settings = Bench.Settings()
      if cancellation == .clientLeavesWhileSettling { settings.settleMilliseconds = 5000 }
      let hub = Bench.hub(settings)
      let areSwitchedOn = { gpsLine.goesHigh() && imuLine.goesHigh() }
      switch cancellation {
      case .clientCloses, .clientLeavesWhileSettling:
        let subscriber = Subscriber(hub)
        #expect(areSwitchedOn())
        subscriber.leave()
      case .clientDies:
        let watch = hub.watch()
        #expect(areSwitchedOn())
        watch.send(SIGKILL)
        watch.wait()
      case .clientLeavesWhileTheReceiverIsSilent:
        Bench.board.receiver.setMuted(true)
        defer { Bench.board.receiver.setMuted(false) }
        let subscriber = Subscriber(hub)
        #expect(areSwitchedOn())
        subscriber.leave()
        #expect(gpsLine.goesLow())
      case .boardIsReadAgain:
        let subscriber = Subscriber(hub)
        #expect(areSwitchedOn())
        HubProcess.write("{ name: \"nothing\" }", to: hub.boardFile)
        hub.program.send(SIGHUP)
        #expect(gpsLine.goesLow() && imuLine.goesLow())
        subscriber.leave()
      case .allLeaveAtOnce:
        let subscribers = (0..<20).map { _ in Subscriber(hub) }
        // Waits until the hub has accepted each subscriber: one that is still queued would wake the devices again.
        #expect(areSwitchedOn() && subscribers.allSatisfy { $0.receives(lineCount: 1) })
        for subscriber in subscribers { subscriber.leave() }
      }
      // The limit is shorter than the settling time of the devices.
      let limit = Duration.seconds(cancellation == .clientLeavesWhileSettling ? 4 : 60)
      #expect(gpsLine.goesLow(within: limit) && imuLine.goesLow(within: limit))
      #expect(eventually(within: limit) { hub.openDevices.isEmpty })
      Bench.saw("\(cancellation.rawValue): \(gpsLine.rises.count) rise, \(gpsLine.falls.count) fall")
      #expect(hub.stop() == 0)
    }

    @Test func `clients that overlap cause no power cycle`() {
      let hub = Bench.hub()
      var present = Subscriber(hub)
      #expect(present.receives { $0.mode == "fused" })
      for _ in 0..<30 {
        let next = Subscriber(hub)
        #expect(next.receives(lineCount: 1))
        present.leave()
        present = next
      }
      #expect(gpsLine.rises.count == 1 && gpsLine.falls.isEmpty)
      #expect(imuLine.rises.count == 1 && imuLine.falls.isEmpty)
      Bench.saw("31 subscribers one after the other: 1 rise, 0 falls")
      present.leave()
      #expect(hub.stop() == 0)
    }

    @Test
    func `a request for attitudes leaves the receiver off, one for positions the IMU, and each line switches once`() {
      let hub = Bench.hub()
      let level = Subscriber(hub, parts: ["attitude", "rates"])
      #expect(level.receives { $0.rates != nil })
      #expect(gpsLine.all.isEmpty && imuLine.rises.count == 1)
      let map = Subscriber(hub, parts: ["position"])
      #expect(level.receives { $0.position != nil })
      level.leave()
      #expect(imuLine.waits { $0.falls.count == 1 })
      map.forget()
      #expect(map.receives { $0.position != nil })
      #expect(gpsLine.falls.isEmpty)
      map.leave()
      #expect(gpsLine.waits { $0.falls.count == 1 })
      #expect(gpsLine.rises.count == 1 && imuLine.rises.count == 1 && imuLine.falls.count == 1)
      Bench.saw("an attitude, then a position beside it, then that alone: 1 rise and 1 fall each, none for the other")
      #expect(hub.stop() == 0)
    }

    @Test func `a client that comes back during the idle timeout causes no power cycle`() {
      let hub = Bench.hub(.init(idleTimeout: 2))
      for _ in 0..<5 {
        let subscriber = Subscriber(hub)
        #expect(subscriber.receives(lineCount: 1))
        subscriber.leave()
        #expect(eventually { hub.devicesNow.devices.allSatisfy { $0.power == "lingering" } })
      }
      #expect(gpsLine.rises.count == 1 && gpsLine.falls.isEmpty)
      Bench.saw("5 visits within the linger: 1 rise, 0 falls")
      #expect(hub.stop() == 0)
    }

    @Test func `a supply stays on and off for at least its minimum times`() throws {
      let hub = Bench.hub(.init(minimumOn: 1, minimumOff: 1))
      for _ in 0..<2 {
        let subscriber = Subscriber(hub)
        #expect(gpsLine.goesHigh())
        subscriber.leave()
        #expect(gpsLine.goesLow())
      }
      // The shortest and longest possible durations, given the times at which the line was read.
      let changes = gpsLine.all
      let times = zip(changes, changes.dropFirst()).map { (least: $1.after - $0.at, most: $1.at - $0.after) }
      try #require(times.count == 3)
      for time in times { #expect(time.most >= .seconds(1) && time.least < .milliseconds(1500)) }
      Bench.saw(
        "asked for 1 s each: "
          + zip(["on", "off", "on"], times).map {
            "\($0) for \(Bench.milliseconds($1.least)) to \(Bench.milliseconds($1.most))"
          }
          .joined(separator: ", "))
      #expect(hub.stop() == 0)
    }

    @Test func `the tty is open, and sentences flow, only while the receiver is powered`() {
      let hub = Bench.hub()
      for _ in 0..<3 {
        #expect(hub.openDevices.isEmpty)
        let sentences = hub.devicesNow["gps"].counters["sentences"] ?? 0
        let subscriber = Subscriber(hub)
        #expect(subscriber.receives { $0.position != nil })
        #expect(hub.openDevices.contains { $0.contains("/dev/pts/") || $0.contains("/dev/tty") })
        subscriber.leave()
        #expect(gpsLine.goesLow())
        // The port must be closed before the supply is switched off, because a receiver must not be powered through
        // its data lines. The IMU's bus may still be open.
        #expect(!hub.openDevices.contains { $0.contains("/dev/pts/") || $0.contains("/dev/tty") })
        #expect(eventually { hub.openDevices.isEmpty }, "\(hub.openDevices)")
        #expect(hub.devicesNow["gps"].counters["sentences"] ?? 0 > sentences)
      }
      let sentences = hub.devicesNow["gps"].counters["sentences"] ?? 0
      Bench.saw("3 visits: no tty open while the line was low, \(sentences) sentences read while it was high")
      #expect(hub.stop() == 0)
    }
  }
}
