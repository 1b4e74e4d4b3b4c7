import Glibc
import HardwareIO
import TestSupport
import Testing

/// The knowledge of a receiver without a backup battery, from one run of the hub to the next.
@Suite(.timeLimit(.minutes(10)))
final class KeptKnowledgeFileTests {
  private let temporary = TemporaryFolder("kept")
  private var folder: String { temporary.path }

  private func hub() -> HubProcess {
    let board = """
      { name: "test", devices: { gps: { driver: "ublox", port: "simulated/ublox-10",
        power: { switch: "gpio", chip: "simulated", line: "ublox-10-power", backupBattery: false, lingerSeconds: 0 } } } }
      """
    return HubProcess(board: board, environment: ["STATE_DIRECTORY=\(folder)"])
  }

  private var text: String {
    String(decoding: (try? Files.bytes(of: "\(folder)/receivers.json")) ?? [], as: UTF8.self)
  }

  @Test func `a receiver's knowledge is stored when the hub ends, and the next hub reads it`() {
    // A receiver has 800 ms to report its knowledge before its supply is switched off. If a busy machine takes longer,
    // the next run has another chance.
    let isTold = (0..<3).contains { _ in
      let first = hub()
      let watch = first.watch()
      // A cold start takes as long as the data sheet says.
      #expect(
        eventually(within: .seconds(240)) { first.devicesNow["gps"].power == "tracking" }, "\(first.devicesNow)")
      watch.send(SIGTERM)
      watch.wait()
      #expect(first.shows("gps", "off"))
      #expect(first.stop() == 0)
      return text.contains("\"database\"")
    }
    #expect(isTold)
    // The stored text has the receiver's identity and its knowledge of the satellites.
    #expect(text.contains("CFFB03D2592C") && text.contains("u-blox 000A0000, protocol 34.10"), "\(text)")
    #expect(text.contains("\"database\""), "\(text)")
    let kept = text
    let second = hub()
    #expect(!second.program.standardError.contains("receivers.json"), "\(second.program.standardError)")
    #expect(second.stop() == 0)
    #expect(text.contains("CFFB03D2592C") && text.utf8.count == kept.utf8.count, "\(text)")
  }

  @Test func `with a damaged file of knowledge, the hub runs and its receivers start without it`() {
    HubProcess.write("{ \"gps\": { \"receiver\": ", to: "\(folder)/receivers.json")
    let hub = hub()
    let watch = hub.watch()
    #expect(hub.shows("gps", "acquiring"), "\(hub.devicesNow)")
    watch.send(SIGTERM)
    watch.wait()
    #expect(hub.stop() == 0)
  }
}
