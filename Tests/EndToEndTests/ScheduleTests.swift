import ArgumentParser
import Glibc
import TestSupport
import Testing

@testable import sensorhub

/// Scheduled fixes as clients request them.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ScheduleTests {
  private func hub() -> HubProcess { HubProcess(board: HubProcess.simulatedBoard("")) }

  /// An interval in seconds after which the next fix is far away, whenever the machine was switched on.
  private static let week = "604800"

  @Test func `watch gets an accurate enough fix, and the receiver sleeps until the next one`() {
    let hub = hub()
    let watch = hub.watch(["--json", "--every", Self.week, "--accuracy", "100", "--within", "60"])
    #expect(watch.prints("\n"), "\(watch.standardError)")
    let met = #""schedule":{"met":true,"still":false,"radius":"#
    #expect(watch.standardOutput.contains(met), "\(watch.standardOutput)")
    #expect(HubProcess.states(watch).first?.position != nil)
    #expect(hub.comesToRest())
    #expect(watch.isRunning)
    let devices = hub.devicesNow
    // If a busy machine delays a client between its connection and its request, the IMU is woken as well, so this test
    // does not look at it. PartsTests shows that a request does not wake it.
    #expect(devices["gps"].wakes == 1 && devices["gps"].holders.isEmpty)
    let report = Program(["devices", "--bills", "--socket", hub.socket])
    report.wait()
    #expect(report.standardOutput.contains("for watch[\(watch.pid)], every 168 h 00 min, to 100 m: woken"))
    watch.send(SIGINT)
    watch.wait()
    #expect(hub.stop() == 0)
  }

  @Test func `watch shows a request that is degraded for lack of energy, and only its changed values`() {
    let hub = HubProcess(
      board: """
        { name: "test", devices: { gps: { driver: "nmea", port: "simulated/gps", power: { switch: "gpio", chip: "simulated",
          line: "gps-power", currentMilliamperes: 30, milliwattHoursPerDay: 0.01, whenShort: { accuracyMetres: 250 } } } } }
        """)
    let watch = hub.watch(["--every", "2", "--accuracy", "100", "--within", "60"])
    #expect(
      watch.prints(", 250 m accuracy (energy is short)"), "\(watch.standardError)")
    #expect(!watch.standardOutput.contains("every 2"), "\(watch.standardOutput)")
    watch.send(SIGINT)
    watch.wait()
    #expect(hub.stop() == 0)
  }

  @Test func `watch gets a state up to a maximum age from memory, and reports a hub without a receiver`() {
    let hub = hub()
    let first = hub.watch(["--json", "--max-age", "3600", "--parts", "position"])
    #expect(first.wait() == 0 && first.standardOutput.contains(#""position":{"#), "\(first.standardError)")
    #expect(hub.comesToRest())
    // A client that was delayed between connecting and requesting has woken everything first.
    let wakes = hub.devicesNow["gps"].wakes
    #expect((1...2).contains(wakes))
    let second = hub.watch(["--json", "--max-age", "3600", "--parts", "position"])
    #expect(second.wait() == 0 && second.standardOutput.contains(#""position":{"#), "\(second.standardError)")
    #expect(hub.devicesNow["gps"].wakes <= wakes + 1)
    HubProcess.write(
      "{ name: \"test\", devices: { imu: { driver: \"mpu-6050\", bus: \"simulated/i2c\" } } }", to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(hub.logs("reloaded"))
    let watch = hub.watch(["--every", "60"])
    #expect(watch.wait() == 69 && watch.standardError.contains("the hub has no receiver"), "\(watch.standardError)")
    #expect(hub.stop() == 0)
  }

  @Test(arguments: [
    (["--accuracy", "10"], "--accuracy needs --every"),
    (["--every", "60", "--rate", "2"], "cannot be combined with --rate"),
    (["--every", "60", "--once"], "cannot be combined"), (["--every", "0.5"], "--every must be from 1"),
    (["--every", "60", "--within", "0"], "--within must be from 1"), (["--every", "60", "--accuracy", "0"], "0.1"),
    (["--distance", "0"], "--distance must be a number from 0.1"), (["--max-age", "30", "--rate", "1"], "--max-age"),
    (["--error", "25", "--every", "60"], "cannot be combined with 'error'"),
    (["--once", "--batch", "5"], "cannot be combined with --distance"),
  ])
  func `watch reports a request that cannot be met`(_ arguments: [String], _ message: String) {
    let error = #expect(throws: (any Error).self) { _ = try Watch.parse(arguments) }
    guard let error else { return }
    #expect(Watch.exitCode(for: error).rawValue == 64)
    #expect(Watch.message(for: error).contains(message), "\(Watch.message(for: error))")
  }

  @Test func `watch ends with an exit code for a request that cannot be met`() {
    let watch = Program(["watch", "--accuracy", "10"])
    #expect(watch.wait() == 64 && watch.standardError.contains("--accuracy needs --every"), "\(watch.standardError)")
  }
}
