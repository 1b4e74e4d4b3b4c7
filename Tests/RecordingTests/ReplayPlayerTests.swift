import Devices
import Hub
import MonotonicTime
import Publishing
import Recording
import Testing

/// What a replay has wanted of the hub that it plays to.
struct ReplayPlayerTests {
  private let stage: ReplayStage

  init() throws {
    let board = "{ name: 'test', devices: { baro: { driver: 'bme280', bus: 'simulated/i2c' } } }"
    stage = ReplayStage(
      first: ReplayPlayerTests.power(0, isSupplied: false), board: try Board(json5: Array(board.utf8), file: "test"))
  }

  private static func message(_ second: Int64, _ content: ReplayedMessage.Content) -> ReplayedMessage {
    ReplayedMessage(
      at: MonotonicInstant(nanoseconds: second * 1_000_000_000),
      systemNanosecondsSince1970: 1_800_000_000_000_000_000 + second * 1_000_000_000, device: "baro", content: content)
  }

  private static func power(_ second: Int64, isSupplied: Bool) -> ReplayedMessage {
    message(second, .power(.barometer, isSupplied: isSupplied, isHeld: isSupplied))
  }

  private func air(_ second: Int64) -> ReplayedMessage {
    let sample = BarometerSample(
      at: MonotonicInstant(nanoseconds: second * 1_000_000_000), pressurePascals: 100_000, temperatureCelsius: 20,
      humidityPercent: nil)
    return ReplayPlayerTests.message(second, .air(sample))
  }

  @Test func `what measures was supplied and held, also where that was written down later or never`() {
    var player = ReplayPlayer(on: stage)
    func isWanted() -> Bool {
      let wanted = stage.wanted.value
      #expect(wanted.devices == wanted.supplied && (wanted.run != nil) == !wanted.devices.isEmpty)
      return wanted.devices == ["baro"]
    }
    player.play(ReplayPlayerTests.power(0, isSupplied: false))
    #expect(!isWanted())
    // The thread that writes down that it was switched on is held up.
    player.play(air(1))
    #expect(isWanted())
    player.play(ReplayPlayerTests.power(2, isSupplied: true))
    player.play(air(3))
    #expect(isWanted())
    player.play(ReplayPlayerTests.power(4, isSupplied: false))
    #expect(!isWanted())
  }

  @Test func `the system's clock is what it was then, and another recording's is its own`() {
    var player = ReplayPlayer(on: stage)
    func secondsAhead(_ message: ReplayedMessage) -> Int64 {
      player.play(message)
      return (stage.machine.systemTime() - message.systemNanosecondsSince1970) / 1_000_000_000
    }
    #expect(secondsAhead(air(1)) == 0)
    // The board hears of the time from its network.
    #expect(secondsAhead(ReplayPlayerTests.message(2, .clock(aheadNanoseconds: 7_200_000_000_000))) == 7200)
    #expect(secondsAhead(air(3)) == 7200)
    // The hub is started again on the clock that was set, and goes on at its own times.
    var first = air(5)
    first.systemNanosecondsSince1970 += 7_200_000_000_000
    first.beginsRecording = true
    #expect(secondsAhead(first) == 0)
    #expect(player.time(until: air(6)) == .seconds(1))
  }

  @Test func `what only a replay fuses begins with what is measured, and not again with what is held since`() {
    var player = ReplayPlayer(on: stage)
    func run(_ message: ReplayedMessage) -> Int? {
      player.play(message)
      return stage.wanted.value.run
    }
    // A hold comes before the run that it is for.
    #expect(run(ReplayPlayerTests.power(1, isSupplied: true)) == nil)
    #expect(run(air(2)) == 1)
    #expect(run(ReplayPlayerTests.message(3, .fusion(isUnderWay: true, tellsEpochs: false))) == 2)
    #expect(run(air(4)) == 2)
    // Whoever had it fused is about to let go.
    #expect(run(ReplayPlayerTests.message(5, .fusion(isUnderWay: false, tellsEpochs: false))) == nil)
    #expect(run(air(6)) == nil)
    #expect(run(ReplayPlayerTests.power(7, isSupplied: false)) == nil)
    #expect(run(ReplayPlayerTests.power(8, isSupplied: true)) == nil)
    #expect(run(air(9)) == 3)
  }
}
