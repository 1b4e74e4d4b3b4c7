import Devices
import Fusion
import Hub
import MonotonicTime
import Publishing
import Testing

@testable import Recording

/// The effects of a replay on its hub.
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

  private func air(_ second: Int64, milliseconds: Int64 = 0) -> ReplayedMessage {
    let sample = BarometerSample(
      at: MonotonicInstant(nanoseconds: second * 1_000_000_000 + milliseconds * 1_000_000), pressurePascals: 100_000,
      temperatureCelsius: 20,
      humidityPercent: nil)
    var message = ReplayPlayerTests.message(second, .air(sample))
    message.move(to: sample.at)
    return message
  }

  @Test func `during a replay the system clock is as it was during the recording, separately for each recording`() {
    var player = ReplayPlayer(on: stage)
    func secondsAhead(_ message: ReplayedMessage) -> Int64 {
      player.play(message)
      return (stage.machine.systemTime() - message.systemNanosecondsSince1970) / 1_000_000_000
    }
    #expect(secondsAhead(air(1)) == 0)
    // The board gets the time from its network.
    #expect(secondsAhead(ReplayPlayerTests.message(2, .clock(aheadNanoseconds: 7_200_000_000_000))) == 7200)
    #expect(secondsAhead(air(3)) == 7200)
    // The hub restarts with the corrected clock and continues at its own times.
    var first = air(5)
    first.systemNanosecondsSince1970 += 7_200_000_000_000
    first.beginsRecording = true
    #expect(secondsAhead(first) == 0)
    #expect(player.time(until: air(6)) == .seconds(1))
  }

  @Test func `a state that no client requested is fused in a replay, unless it is the rest of a fusion run`() throws {
    var player = ReplayPlayer(on: stage)
    let hub = Hub(board: stage.board.value, on: stage.machine)
    func isFused(_ message: ReplayedMessage) -> Bool {
      let before = hub.lastState.value?.air?.at
      player.play(message)
      return hub.fusionRun.value.isUnderWay && hub.lastState.value?.air?.at != before
    }
    // The thread that records the switching-on is delayed.
    #expect(isFused(air(2)))
    player.play(ReplayPlayerTests.message(3, .begin(FusionKnowledge(), positionSource: "")))
    #expect(isFused(air(4)))
    player.play(ReplayPlayerTests.message(5, .end))
    #expect(hub.lastState.value?.mode == .asleep)
    #expect(!isFused(air(5, milliseconds: 300)))
    #expect(isFused(air(9)))
    player.play(ReplayPlayerTests.power(10, isSupplied: false))
    #expect(!hub.fusionRun.value.isUnderWay)
  }

  @Test func `a recorded expiry makes a state at its instant, and begins no fusion run`() throws {
    var player = ReplayPlayer(on: stage)
    let hub = Hub(board: stage.board.value, on: stage.machine)
    player.play(ReplayPlayerTests.message(1, .expiry))
    #expect(!hub.fusionRun.value.isUnderWay && hub.lastState.value == nil)
    player.play(ReplayPlayerTests.message(2, .begin(FusionKnowledge(), positionSource: "")))
    player.play(air(3))
    #expect(hub.lastState.value?.air != nil)
    player.play(ReplayPlayerTests.message(20, .expiry))
    let last = try #require(hub.lastState.value)
    #expect(last.at == MonotonicInstant(nanoseconds: 20_000_000_000) && last.air == nil)
    #expect(hub.fusionRun.value.isUnderWay)
  }

  @Test func `a fusion run begins with the values known at that time`() throws {
    var player = ReplayPlayer(on: stage)
    let hub = Hub(board: stage.board.value, on: stage.machine)
    let position = FusedState.Position(
      latitudeDegrees: 52, longitudeDegrees: 13, altitudeHAEMetres: nil, altitudeMSLMetres: nil,
      horizontalSigmaMetres: 3, verticalSigmaMetres: nil)
    let knowledge = FusionKnowledge(
      position: Dated(position, at: MonotonicInstant(nanoseconds: 500_000_000), source: []))
    player.play(ReplayPlayerTests.message(1, .begin(knowledge, positionSource: "baro")))
    player.play(ReplayPlayerTests.message(2, .end))
    let left = try #require(hub.lastState.value?.position)
    #expect(left.value == position && left.at == MonotonicInstant(nanoseconds: 500_000_000))
    #expect(left.source == DeviceSet(0))
  }
}
