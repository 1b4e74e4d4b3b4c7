import CLinux
import Glibc
import HardwareIO
import MonotonicTime
import Simulation
import TestSupport
import Testing
import VirtualBench

/// Everything that needs the bench's devices: one test after the other.
@Suite(.serialized, .enabled(if: Bench.isHere, "not on the bench: make hil runs these")) enum HardwareInTheLoop {}

extension HardwareInTheLoop {
  /// Power follows demand, as seen on the lines.
  @Suite(.serialized, .timeLimit(.minutes(3))) struct PowerTests {
    let board = Bench.board

    @Test func `power is off until somebody subscribes, on within 50 ms, and off after the linger`() {
      let hub = Bench.hub(.init(linger: 0.5))
      #expect(hub.devicesNow.devices.allSatisfy { $0.power == "off" })
      #expect(board.gpsLine.all.isEmpty && board.imuLine.all.isEmpty, "a line rose for nobody")
      var onDelays: [Duration] = []
      var offDelays: [Duration] = []
      for round in 1...5 {
        let subscribed = MonotonicClock().now
        let subscriber = Subscriber(hub)
        for line in [board.gpsLine, board.imuLine] {
          #expect(eventually { line.rises.count == round })
          if let rise = line.rises.last { onDelays.append(rise - subscribed) }
        }
        let left = MonotonicClock().now
        subscriber.leave()
        for line in [board.gpsLine, board.imuLine] {
          #expect(eventually { line.falls.count == round })
          if let fall = line.falls.last { offDelays.append(fall - left) }
        }
      }
      // The median: one interrupted round says nothing about the hub.
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
        // What a trap in the reader does: the processor's own signal, to that thread.
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

    @Test(arguments: Ending.allCases) func `power is off when the hub ends`(_ ending: Ending) {
      let hub = Bench.hub(.init(linger: 5))
      let subscriber = Subscriber(hub)
      #expect(eventually { subscriber.states.contains { $0.mode == "fused" } })
      #expect(board.gpsLine.isHigh && board.imuLine.isHigh)
      let ended = MonotonicClock().now
      ending.apply(to: hub)
      let code = hub.program.wait()
      #expect(code == (ending == .terminated || ending == .interrupted ? 0 : ending == .killed ? -SIGKILL : -SIGILL))
      // As the unit's ExecStopPost= does after every end.
      let safe = Program(["safe", hub.boardFile])
      #expect(safe.wait() == 0, "\(safe.standardError)")
      #expect(!board.chip.level(VirtualBoard.gpsPower) && !board.chip.level(VirtualBoard.imuPower))
      #expect(eventually { !board.gpsLine.isHigh && !board.imuLine.isHigh })
      if let fall = board.gpsLine.falls.last {
        Bench.saw("\(ending.rawValue): exit \(code), lines low \(Bench.milliseconds(fall - ended)) after it")
      }
    }

    enum Cancellation: String, CaseIterable {
      case clientCloses, clientDies, clientLeavesWhileSettling, clientLeavesWhileTheReceiverIsSilent
      case boardIsReadAgain, allLeaveAtOnce
    }

    @Test(arguments: Cancellation.allCases) func `power is off after every way to lose the last subscriber`(
      _ cancellation: Cancellation
    ) {
      var settings = Bench.Settings()
      if cancellation == .clientLeavesWhileSettling { settings.settleMilliseconds = 5000 }
      let hub = Bench.hub(settings)
      let isOn = { board.gpsLine.isHigh && board.imuLine.isHigh }
      switch cancellation {
      case .clientCloses, .clientLeavesWhileSettling:
        let subscriber = Subscriber(hub)
        #expect(eventually { isOn() })
        subscriber.leave()
      case .clientDies:
        let watch = hub.watch()
        #expect(eventually { isOn() })
        watch.send(SIGKILL)
        watch.wait()
      case .clientLeavesWhileTheReceiverIsSilent:
        board.receiver.setMuted(true)
        defer { board.receiver.setMuted(false) }
        let subscriber = Subscriber(hub)
        #expect(eventually { isOn() })
        subscriber.leave()
        #expect(eventually { !board.gpsLine.isHigh })
      case .boardIsReadAgain:
        let subscriber = Subscriber(hub)
        #expect(eventually { isOn() })
        HubProcess.write("{ name: \"nothing\" }", to: hub.boardFile)
        hub.program.send(SIGHUP)
        #expect(eventually { !isOn() })
        subscriber.leave()
      case .allLeaveAtOnce:
        let subscribers = (0..<20).map { _ in Subscriber(hub) }
        #expect(eventually { isOn() })
        for subscriber in subscribers { subscriber.leave() }
      }
      #expect(eventually(within: .seconds(3)) { !board.gpsLine.isHigh && !board.imuLine.isHigh })
      #expect(hub.openDevices.isEmpty)
      Bench.saw("\(cancellation.rawValue): \(board.gpsLine.rises.count) rise, \(board.gpsLine.falls.count) fall")
      #expect(hub.stop() == 0)
    }

    @Test func `subscribers that overlap make no power cycle`() {
      let hub = Bench.hub()
      var present = Subscriber(hub)
      #expect(eventually { present.states.contains { $0.mode == "fused" } })
      for _ in 0..<30 {
        let next = Subscriber(hub)
        #expect(eventually { next.lineCount > 0 })
        present.leave()
        present = next
      }
      #expect(board.gpsLine.rises.count == 1 && board.gpsLine.falls.isEmpty)
      #expect(board.imuLine.rises.count == 1 && board.imuLine.falls.isEmpty)
      Bench.saw("31 subscribers one after the other: 1 rise, 0 falls")
      present.leave()
      #expect(hub.stop() == 0)
    }

    @Test func `a subscriber who comes back while the device lingers makes no power cycle`() {
      let hub = Bench.hub(.init(linger: 2))
      for _ in 0..<5 {
        let subscriber = Subscriber(hub)
        #expect(eventually { subscriber.lineCount > 0 })
        subscriber.leave()
        #expect(eventually { hub.devicesNow.devices.allSatisfy { $0.power == "lingering" } })
      }
      #expect(board.gpsLine.rises.count == 1 && board.gpsLine.falls.isEmpty)
      Bench.saw("5 visits within the linger: 1 rise, 0 falls")
      #expect(hub.stop() == 0)
    }

    @Test func `the least times on and off are kept`() {
      let hub = Bench.hub(.init(minimumOn: 1, minimumOff: 1))
      for _ in 0..<2 {
        let subscriber = Subscriber(hub)
        #expect(eventually { board.gpsLine.isHigh })
        subscriber.leave()
        #expect(eventually { !board.gpsLine.isHigh })
      }
      let (rises, falls) = (board.gpsLine.rises, board.gpsLine.falls)
      let on = falls[0] - rises[0]
      let off = rises[1] - falls[0]
      // The line is looked at every two milliseconds.
      #expect(on >= .milliseconds(995) && on < .milliseconds(1500))
      #expect(off >= .milliseconds(995) && off < .milliseconds(1500))
      Bench.saw("asked for 1 s each: on for \(Bench.milliseconds(on)), off for \(Bench.milliseconds(off))")
      #expect(hub.stop() == 0)
    }

    @Test func `the tty is open, and sentences flow, only while the receiver is powered`() {
      let hub = Bench.hub()
      let before = board.receiver.bytesWritten
      for _ in 0..<3 {
        #expect(hub.openDevices.isEmpty)
        let sentences = hub.devicesNow["gps"].counters["sentences"] ?? 0
        let subscriber = Subscriber(hub)
        #expect(eventually { subscriber.states.contains { $0.position != nil } })
        #expect(hub.openDevices.contains { $0.contains("/dev/pts/") })
        subscriber.leave()
        #expect(eventually { !board.gpsLine.isHigh })
        // Closed before the supply went: a receiver must not be fed through its data lines.
        #expect(hub.openDevices.isEmpty)
        #expect(hub.devicesNow["gps"].counters["sentences"] ?? 0 > sentences)
      }
      let sent = board.receiver.bytesWritten - before
      Bench.saw("3 visits: no tty open while the line was low, \(sent) bytes sent while it was high")
      #expect(hub.stop() == 0)
    }
  }
}
