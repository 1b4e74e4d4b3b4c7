import Glibc
import HardwareIO
import MonotonicTime
import Simulation
import TestSupport
import Testing
import VirtualBench

extension HardwareInTheLoop {
  /// Receivers that sleep by command, observed on their power line and their tty.
  @Suite(.serialized, .enabled(if: Bench.isVirtual, "only the virtual bench plays receivers"), .timeLimit(.minutes(10)))
  struct ReceiverSleepTests {
    @Test(arguments: [
      (ReceiverPersonality.ublox8, "ublox", "backup", ReceiverPhase.backup),
      (.ublox10, "ublox", "backup", .backup), (.mediatek, "mediatek", "standby", .standby),
      // Its radio is off, but it still reads commands.
      (.airoha, "airoha", "standby", .stopped),
    ])
    func `a sleeping receiver keeps its supply, its tty is closed, and it sends within a second after a request`(
      _ personality: ReceiverPersonality, _ driver: String, _ sleep: String, _ phase: ReceiverPhase
    ) throws {
      let bench = try CommandedBench(personality)
      let hub = bench.hub(driver, "sleep: \"\(sleep)\", lingerSeconds: 0")
      var delays: [Duration] = []
      for round in 0...3 {
        let before = hub.devicesNow["gps"].counters["sentences"] ?? 0
        let subscribed = MonotonicClock().now
        let subscriber = Subscriber(hub)
        #expect(eventually { hub.devicesNow["gps"].counters["sentences"] ?? 0 > before })
        // The first round is not measured, because the hub detects and configures the receiver.
        if round > 0 { delays.append(MonotonicClock().now - subscribed) }
        #expect(eventually { subscriber.states.contains { $0.position != nil } })
        subscriber.leave()
        #expect(eventually { hub.devicesNow["gps"].power == "asleep" }, "\(hub.devicesNow["gps"].reason)")
        // The hub has sent its last command. The receiver still has to read it.
        #expect(eventually { bench.receiver.phase == phase })
        // The hub keeps only the power line open.
        #expect(eventually { !hub.openDevices.contains { $0.contains("/dev/pts/") } }, "\(hub.openDevices)")
        #expect(bench.line.isHigh && bench.line.rises.count == 1 && bench.line.falls.isEmpty)
      }
      delays.sort()
      #expect(delays[1] < .seconds(1), "\(delays)")
      #expect(hub.stop() == 0)
      #expect(eventually { !bench.line.isHigh })
      Bench.saw(
        "\(personality.rawValue) in \(sleep): 4 visits, 1 rise, 0 falls, no tty open between; speaks "
          + "\(Bench.milliseconds(delays[1])) after the subscription (median of 3, latest \(Bench.milliseconds(delays[2])))"
      )
    }
  }
}
