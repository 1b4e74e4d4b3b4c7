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

  @Test func `a silent line has failed since the silence began, and a missing port since the attempt`() throws {
    let clock = ManualClock()
    let health = DeviceHealth(clock: clock)
    health.listens(on: "/dev/ttyUSB0", isSpeedFixed: true)
    health.required()
    health.acquiring()
    clock.advance(by: .seconds(10))
    #expect(health.condition(at: clock.now).map { clock.now - $0.since } == .seconds(10))
    health.failed(.unheard("nothing received on /dev/ttyUSB0 for 10 s", nextStep: "check the wiring"))
    let silent = try #require(health.condition(at: clock.now))
    #expect(silent.kind == .failed && clock.now - silent.since == .seconds(10), "\(silent)")
    let other = DeviceHealth(clock: clock)
    other.listens(on: "/dev/ttyUSB1", isSpeedFixed: true)
    other.required()
    clock.advance(by: .seconds(1))
    other.failed(.notFound("serial port /dev/ttyUSB1"))
    #expect(other.condition(at: clock.now)?.since == clock.now)
  }
}
