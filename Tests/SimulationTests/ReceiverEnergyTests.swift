import Devices
import HardwareIO
import MonotonicTime
import Simulation
import TestSupport
import Testing

/// The energy of a pause.
@Suite(.timeLimit(.minutes(10)))
struct ReceiverEnergyTests {
  /// The charge in coulombs of a pause alone, and until the receiver has its position again.
  private func pause(_ duration: Duration, _ before: [UInt8]?, wake: [UInt8]?) throws -> (alone: Double, whole: Double)
  {
    let bench = try ReceiverBench(.ublox8)
    bench.runUntilFix()
    if let before {
      let count = bench.receiver.commands.count
      try bench.tell(before)
      #expect(bench.receiver.commands.count > count)
    } else {
      bench.setPower(false)
    }
    let start = bench.receiver.charge.coulombs
    bench.run(duration)
    let alone = bench.receiver.charge.coulombs - start
    if let wake {
      let asleep = bench.receiver.phase
      try bench.tell(wake)
      #expect(bench.receiver.phase != asleep || asleep == .tracking)
    } else {
      bench.setPower(true)
    }
    bench.runUntilFix()
    return (alone, bench.receiver.charge.coulombs - start)
  }

  @Test(arguments: [1, 10, 60])
  func `each sleep mode draws the current of the data sheet`(_ minutes: Int) throws {
    let duration = Duration.seconds(60 * minutes)
    let poll = ubx(0x0A, 0x04)
    let tracking = try pause(duration, poll, wake: poll)
    let stopped = try pause(duration, ubx(6, 4, [0, 0, 8, 0]), wake: ubx(6, 4, [0, 0, 9, 0]))
    let backup = try pause(duration, ubx(2, 0x41, [0, 0, 0, 0, 2, 0, 0, 0]), wake: [0xFF])
    let off = try pause(duration, nil, wake: nil)
    #expect(tracking.alone > stopped.alone && stopped.alone > backup.alone && backup.alone > off.alone)
    let drawn: [(Double, ReceiverPhase)] = [
      (tracking.alone, .tracking), (stopped.alone, .stopped), (backup.alone, .backup), (off.alone, .off),
    ]
    for (coulombs, phase) in drawn {
      let expected = ReceiverPersonality.ublox8.amperes(phase) * Double(60 * minutes)
      #expect(abs(coulombs - expected) < 0.01 * expected)
    }
    // A new search costs less than continued tracking.
    #expect(backup.whole < tracking.whole / 10 && off.whole < tracking.whole / 10)
  }

  @Test func `a receiver that is off draws only the current of its memory`() throws {
    var configuration = CommandedReceiver.Configuration()
    configuration.hasBackupSupply = false
    for (configuration, amperes) in [
      (configuration, 0), (.init(), ReceiverPersonality.mediatek.amperes(.off)),
    ] {
      let bench = try ReceiverBench(.mediatek, configuration, isOn: false)
      bench.run(.seconds(1000))
      #expect(abs(bench.receiver.charge.coulombs - 1000 * amperes) < 1e-6)
    }
  }

  // MARK: Every way of every receiver

  private func text(_ energy: Double) -> String {
    let hundredths = Int((energy * 100).rounded())
    return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
  }

  @Test(arguments: ReceiverPersonality.allCases)
  func `the energy of a pause depends on the sleep mode, and includes the next search`(
    _ personality: ReceiverPersonality
  ) throws {
    for minutes in [1, 10, 60] {
      let sleeps: [ReceiverSleep] = personality.driver.sleeps(isSwitched: true)
      let pauses: [(name: String, pause: ReceiverPause)] =
        [("on", ReceiverPause(personality, nil))] + sleeps.map { ($0.rawValue, ReceiverPause(personality, $0)) } + [
          ("off", ReceiverPause(personality, .off)),
          ("off, memory too", ReceiverPause(personality, .off, hasBackupSupply: false)),
        ]
      let costs = try pauses.map { name, pause in
        (name: name, energy: try #require(pause.milliwattHours(of: .seconds(60 * minutes)), "\(name)"))
      }
      let list = costs.map { "\($0.name) \(text($0.energy))" }.joined(separator: ", ")
      print("pause of \(minutes) min, \(personality.rawValue), mWh: \(list)")
      let on = costs[0].energy
      #expect(costs.dropFirst().allSatisfy { $0.energy < on }, "\(list)")
      // In stop mode only the radio is off, so in the long run it uses more than any other sleep mode.
      if minutes == 60, let stop = costs.first(where: { $0.name == "stop" }) {
        #expect(costs.dropFirst().allSatisfy { $0.energy <= stop.energy }, "\(list)")
      }
      // A receiver that has lost its memory pays for a cold start, however short the pause.
      let off = costs.suffix(2).map(\.energy)
      #expect(off[1] > off[0], "\(list)")
    }
  }
}
