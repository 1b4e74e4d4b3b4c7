import Devices
import HardwareIO
import MonotonicTime
import NMEA
import TestSupport
import Testing

@testable import Hub

struct DeviceHealthTests {
  @Test func `a receiver whose port comes back has recovered before it has a fix`() throws {
    let clock = ManualClock()
    let health = DeviceHealth(clock: clock)
    health.listens(on: "/dev/ttyUSB0", isSpeedFixed: false)
    health.required()
    health.failed(.notFound("serial port /dev/ttyUSB0"))
    clock.advance(by: .seconds(240))
    #expect(health.condition(at: clock.now)?.kind == .failed)
    // The port can be opened, but no data has arrived yet.
    health.acquiring()
    #expect(health.condition(at: clock.now)?.kind == .failed)
    health.heard(GNSSObservation(at: clock.now, fix: GNSSFix(), sky: []))
    let condition = try #require(health.condition(at: clock.now))
    #expect(condition.kind == .acquiring && !condition.summary.contains("ttyUSB0"), "\(condition)")
  }
}
