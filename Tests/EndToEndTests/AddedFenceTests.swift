import ArgumentParser
import TestSupport
import Testing

@testable import sensorhub

/// Fences that are added while the hub runs, as programs and people do it.
@Suite(.serialized, .timeLimit(.minutes(10))) struct AddedFenceTests {
  @Test func `a fence can be added, listed and removed by a command`() {
    let hub = HubProcess(board: HubProcess.simulatedBoard("fences: { yard: { circle: [54.4, 10.2, 100] } }"))
    func fence(_ arguments: String...) -> Program {
      let program = Program(["fence"] + arguments + ["--socket", hub.socket])
      program.wait()
      return program
    }
    // The fence is around the board. The receiver is woken for it.
    let here = fence("add", "berth", "--here", "80")
    #expect(here.standardOutput.hasPrefix("fence berth: 80 m around "), "\(here.standardError)")
    let added = fence("add", "anchor", "--at", "54.3721,10.1573", "--radius", "200")
    #expect(added.wait() == 0, "\(added.standardError)")
    let list = fence("list")
    #expect(list.standardOutput.contains("yard: ") && list.standardOutput.contains("set in the board file"))
    #expect(list.standardOutput.contains("200 m around 54.372100, 10.157300; added"), "\(list.standardOutput)")
    #expect(fence("remove", "yard").standardError.contains("is set in the board file"))
    #expect(fence("remove", "berth").standardOutput == "fence berth: removed\n")
    #expect(hub.stop() == 0)
  }

  @Test func `a latitude in the south is a value, and not an option`() throws {
    _ = try SensorHub.parseAsRoot(["fence", "add", "anchor", "--at", "-33.9,18.4", "--radius", "80"])
  }

  @Test(arguments: [
    (["add", "anchor"], "give either --here METRES"), (["add", "anchor", "--at", "54"], "--at must be"),
    (["add", "anchor", "--at", "54,10"], "needs --radius"),
    (["add", "a\"b", "--here", "40"], "the name must have"),
    (["add", "a-name-that-is-too-long-1", "--here", "40"], "the name must have at most 24 letters"),
    (["add", "anchor", "--here", "0.5"], "--here must be from 1 to 100000 metres"),
    (["add", "anchor", "--here", "40", "--grace", "nan"], "--grace must be from 1 to 3600 seconds"),
    (["add", "anchor", "--at", "54,10", "--radius", "100001"], "--radius must be from 1 to 100000 metres"),
    (["add", "anchor", "--at", "86,10", "--radius", "40"], "--at must be a latitude from -85 to 85"),
    (["add", "anchor", "--at", "54,181", "--radius", "40"], "and a longitude from -180 to 180"),
  ])
  func `the fence command reports the missing or invalid argument`(_ arguments: [String], _ message: String) {
    let error = #expect(throws: (any Error).self) { _ = try SensorHub.parseAsRoot(["fence"] + arguments) }
    guard let error else { return }
    #expect(SensorHub.exitCode(for: error).rawValue == 64)
    #expect(SensorHub.fullMessage(for: error).contains(message), "\(SensorHub.fullMessage(for: error))")
  }
}
