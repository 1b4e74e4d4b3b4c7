import Devices
import HardwareIO
import Testing

@testable import Hub

/// The settings in board files for receivers that accept commands.
struct ReceiverSettingsTests {
  private func read(_ receiver: String) throws -> Board {
    try Board(json5: Array("{ name: 'x',\n devices: { gps: { port: 'p',\n \(receiver) } } }".utf8), file: "board")
  }

  @Test func `all receiver settings are understood`() throws {
    let board = try read(
      """
      driver: "ublox", rateHz: 5, constellations: ["gps", "galileo"], dynamicModel: "automotive", powerMode: "full",
      messages: "ubx", setSpeed: 115200, restores: true,
      power: { switch: "gpio", chip: "c", line: "l", sleep: "backup" }
      """)
    let receiver = try #require(board.receiver)
    #expect(receiver.driver == .ublox)
    #expect(receiver.settings.rateHz == 5 && receiver.settings.constellations == [.gps, .galileo])
    #expect(receiver.settings.dynamicModel == .automotive && receiver.settings.powerMode == .full)
    #expect(receiver.settings.messages == .ubx && receiver.settings.speed == .b115200)
    #expect(receiver.settings.restores && !receiver.settings.saves)
    #expect(receiver.power.sleep == .backup && receiver.power.standbyMilliamperes < 1)
  }

  @Test func `a receiver has a battery unless the file says that it has none`() throws {
    let power = #"power: { switch: "gpio", chip: "c", line: "l""#
    #expect(try read(#"driver: "ublox", \#(power) }"#).receiver?.power.hasBackupBattery == true)
    #expect(try read(#"driver: "ublox", \#(power), backupBattery: false }"#).receiver?.power.hasBackupBattery == false)
  }

  @Test func `the board file may leave a receiver's sleep mode to the hub`() throws {
    let power = try #require(try read("driver: 'ublox', power: { sleep: 'auto' }").receiver).power
    #expect(power.choosesSleep && power.sleep == nil)
    // Without a switch, this is the current of the sleep mode that draws the least.
    #expect(power.standbyMilliamperes < 1 && power.restMilliwatts < 1)
    let switched = try #require(
      try read("driver: 'auto', power: { switch: 'gpio', chip: 'c', line: 'l', sleep: 'auto' }").receiver)
    #expect(switched.power.choosesSleep && switched.power.restMilliwatts == 0)
  }

  @Test func `a change of a receiver's settings requires another reader`() throws {
    let one = try #require(try read(#"driver: "ublox", rateHz: 5"#).receiver)
    let other = try #require(try read(#"driver: "ublox", rateHz: 2"#).receiver)
    #expect(one.isRead(like: one) && !one.isRead(like: other))
  }

  @Test(
    arguments: [
      (
        "driver: 'nmea', rateHz: 5",
        "board:3: 'devices.gps.rateHz' must be left out: driver 'nmea' cannot set it; drivers that can: "
          + "'auto', 'ublox', 'mediatek', 'airoha', 'quectel', 'casic', 'unicore'"
      ),
      (
        "driver: 'casic', messages: 'ubx'",
        "board:3: 'devices.gps.messages' must be left out: driver 'casic' cannot set it; drivers that can: "
          + "'auto', 'ublox', 'quectel', 'unicore'"
      ),
      (
        "driver: 'unicore', messages: 'ubx'",
        "board:3: 'devices.gps.messages' must be 'nmea' with this driver"
      ),
      (
        "driver: 'quectel', messages: 'ubx'",
        "board:3: 'devices.gps.messages' must be 'nmea' with this driver"
      ),
      (
        "driver: 'quectel', power: { sleep: 'standby' }",
        "board:3: 'devices.gps.power.sleep' must be left out: with this driver a receiver without a switch cannot "
          + "wake from sleep"
      ),
      (
        "driver: 'ublox',\n constellations: ['gps', 'galileio']",
        "board:4: 'devices.gps.constellations' must be a list of some of 'gps', 'galileo', 'glonass', 'beidou', "
          + "'qzss', "
          + "'sbas'; did you mean 'galileo'?"
      ),
      ("driver: 'ublox', rateHz: 50", "board:3: 'devices.gps.rateHz' must be a number from 0.2 to 25"),
      ("driver: 'ublox', rateHZ: 5", "board:3: unknown key 'devices.gps.rateHZ'; did you mean 'devices.gps.rateHz'?"),
      (
        "driver: 'ublox', saves: true, restores: true",
        "board:3: 'devices.gps.restores' must be left out with 'saves': the hub does not restore saved settings"
      ),
      (
        "driver: 'ublox', power: { backupBattery: false }",
        "board:3: 'devices.gps.power.backupBattery' must be left out without a switch: the receiver's supply is "
          + "always on"
      ),
      (
        "driver: 'airoha', power: { switch: 'gpio', chip: 'c', line: 'l', backupBattery: false }",
        "board:3: 'devices.gps.power.backupBattery' must be left out: with driver 'airoha' the hub cannot restore "
          + "anything in a receiver; drivers that can: 'auto', 'ublox', 'mediatek', 'casic'"
      ),
      (
        "driver: 'ublox', power: { sleep: 'standby' }",
        "board:3: 'devices.gps.power.sleep' must be 'backup' or 'stop' with this driver; 'off' needs a switch"
      ),
      (
        "driver: 'mediatek', power: { sleep: 'backup' }",
        "board:3: 'devices.gps.power.sleep' must be 'standby' with this driver; 'off' needs a switch"
      ),
      (
        "driver: 'casic', power: { sleep: 'standby' }",
        "board:3: 'devices.gps.power.sleep' must be left out: with this driver a receiver without a switch cannot "
          + "wake from sleep"
      ),
      (
        "driver: 'casic', power: { sleep: 'auto' }",
        "board:3: 'devices.gps.power.sleep' must be left out: with this driver a receiver without a switch cannot "
          + "wake from sleep"
      ),
      (
        "driver: 'ublox', power: { sleep: 'auto', standbyMilliamperes: 1 }",
        "board:3: 'devices.gps.power.standbyMilliamperes' must be left out: each sleep mode that 'auto' may choose "
          + "has its "
          + "own"
      ),
      (
        "driver: 'nmea', power: { sleep: 'backup' }",
        "board:3: 'devices.gps.power.sleep' must be left out: with this driver a receiver without a switch cannot "
          + "wake from sleep"
      ),
      (
        "driver: 'ublox', dynamicModel: 'car'",
        "board:3: 'devices.gps.dynamicModel' must be one of 'portable', 'stationary', 'pedestrian', 'automotive', "
          + "'sea', "
          + "'airborne1g', 'airborne2g', 'airborne4g', 'wrist', 'bike'"
      ),
    ])
  func `an invalid setting is refused with the valid ones`(_ receiver: String, _ message: String) {
    let error = #expect(throws: BoardError.self) { try read(receiver) }
    #expect(error?.description == message)
  }
}
