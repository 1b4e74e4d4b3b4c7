import HardwareIO
import Publishing
import TestSupport
import Testing

@testable import Hub
@testable import Outputs

/// A reload of the board file while the hub ends.
@Suite(.timeLimit(.minutes(10)))
struct EndingHostTests {
  private func board(_ name: String) throws -> Board {
    try Board(
      json5: Array("{ name: '\(name)', devices: { gps: { driver: 'nmea', port: '/dev/\(name)' } } }".utf8), file: "x")
  }

  @Test func `a hub that ends is not replaced by a reload`() async throws {
    let host = HubHost(Hub(board: try board("one"), hardware: LinuxHardware()), version: "test")
    let hub = host.hub
    host.shutDown()
    #expect(await host.serve(try board("two")) == nil)
    #expect(host.hub === hub)
    await hub.isOff()
  }
}
