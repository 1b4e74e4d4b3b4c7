import FoundationEssentials
import Glibc
import HardwareIO
import TestSupport
import Testing

/// The report on the devices of a running hub, here the simulated ones.
@Suite(.timeLimit(.minutes(5))) struct VerifyTests {
  private struct Report: Decodable {
    struct Measured: Decodable {
      var count: Int
      var mean: Double
      var noise, rateHz: Double?
    }
    struct Check: Decodable {
      var name, words: String
      var passed: Bool?
    }
    struct Device: Decodable {
      var id, kind, title: String
      var origin: String?
      var measured: [String: Measured]
      var satellites: Int?
      var firstValueSeconds: [Double]
      var checks: [Check]

      func words(_ name: String) -> String? { checks.first { $0.name == name }?.words }
      func passed(_ name: String) -> Bool? { checks.first { $0.name == name }?.passed }
    }
    var version: String
    var kernel: String?
    var devices: [Device]
  }

  private func verify(_ hub: HubProcess, _ arguments: [String]) -> Program {
    let program = Program(["verify", "--socket", hub.socket] + arguments)
    program.wait()
    return program
  }

  @Test func `verify measures and power-cycles each device, and its report does not contain the place`() throws {
    let hub = HubProcess(board: HubProcess.simulatedBoard("state: { rateHz: 10 }"))
    let folder = TemporaryFolder("verify")
    let file = folder.path + "/report.json"
    let program = verify(hub, ["--json", "--cycles", "2", "--seconds", "5", "--report", file])
    let report = try JSONDecoder().decode(Report.self, from: Data(program.standardOutput.utf8))
    #expect(report.devices.map(\.id) == ["gps", "imu"], "\(program.standardError)")
    #expect(report.devices.allSatisfy { $0.origin == "simulated" })
    let (gps, imu) = (report.devices[0], report.devices[1])
    #expect(gps.satellites ?? 0 > 3 && gps.firstValueSeconds.count == 2, "\(program.standardOutput)")
    // The simulated vehicle may be in a bend, where the sensor measures more than gravity.
    #expect(imu.passed("gravity") != nil && imu.passed("noise") == true, "\(program.standardOutput)")
    #expect(imu.words("noise")?.hasSuffix(" m/s2, one sigma") == true, "\(program.standardOutput)")
    #expect(imu.measured["acceleration"]?.count ?? 0 >= 10, "\(program.standardOutput)")
    #expect([gps, imu].allSatisfy { $0.passed("power cycles") == true }, "\(program.standardOutput)")
    #expect(hub.devicesNow.devices.map(\.wakes) == [2, 2])
    let written = String(decoding: try Files.bytes(of: file), as: UTF8.self)
    #expect(written == program.standardOutput)
    for word in ["lat", "lon", "52.5", "13.3"] { #expect(!written.contains("\(word)\""), "\(word)") }
    // An existing report is not replaced, and nothing is woken before that is known.
    let again = verify(hub, ["--report", file])
    #expect(again.wait() != 0 && again.standardError.contains("there is a file"), "\(again.standardError)")
    #expect(hub.devicesNow.devices.map(\.wakes) == [2, 2])
    #expect(hub.stop() == 0)
  }

  @Test func `verify does not pass a device that the hub does not use`() throws {
    let hub = HubProcess(
      board: """
        { name: "test", devices: {
          air: { driver: "bme280", bus: "simulated/i2c", power: { lingerSeconds: 0.2 } },
          spare: { driver: "bmp390", bus: "simulated/i2c", power: { lingerSeconds: 0.2 } } } }
        """)
    let program = verify(hub, ["--json", "--cycles", "2", "--seconds", "2"])
    let report = try JSONDecoder().decode(Report.self, from: Data(program.standardOutput.utf8))
    #expect(report.devices.map(\.id) == ["air", "spare"], "\(program.standardError)")
    #expect(report.devices[0].passed("power cycles") == true, "\(program.standardOutput)")
    let spare = report.devices[1]
    #expect(spare.passed("measures") == nil && spare.measured.isEmpty, "\(program.standardOutput)")
    #expect(spare.words("measures")?.hasPrefix("the hub uses air instead") == true, "\(program.standardOutput)")
    #expect(hub.stop() == 0)
  }

  @Test func `verify measures a device that other clients hold, but does not power-cycle it`() {
    let hub = HubProcess(board: HubProcess.simulatedBoard("state: { rateHz: 10 }"))
    let watch = hub.watch(["--json", "--parts", "rates"])
    #expect(eventually { !HubProcess.states(watch).isEmpty })
    let program = verify(hub, ["--device", "imu", "--seconds", "1"])
    #expect(program.standardOutput.contains("not checked  power cycles: other clients hold it\n"))
    #expect(program.standardOutput.contains("  gravity: "), "\(program.standardOutput)")
    // Each noise has a unit, as its mean has.
    #expect(program.standardOutput.firstMatch(of: /noise:? [0-9.]+(,|\n)/) == nil, "\(program.standardOutput)")
    #expect(hub.devicesNow["imu"].wakes == 1)
    // The name of another client does not matter, not even if it is that of this command.
    watch.send(SIGKILL)
    watch.wait()
    let namesake = SocketClient(path: hub.socket)
    namesake.send(#"{"name": "verify", "parts": ["rates"]}"# + "\n")
    #expect(eventually { hub.devicesNow["imu"].holders.contains { $0.hasPrefix("verify") } })
    let again = verify(hub, ["--device", "imu", "--seconds", "1"])
    #expect(again.standardOutput.contains("not checked  power cycles: other clients hold it\n"))
    namesake.leave()
    let unknown = verify(hub, ["--device", "compass"])
    #expect(unknown.standardError.contains("the hub has no device 'compass'"), "\(unknown.standardError)")
    #expect(hub.stop() == 0)
  }
}
