import HardwareIO
import MonotonicTime
import Simulation
import TestSupport
import Testing

/// What a pause costs.
@Suite(.timeLimit(.minutes(10)))
struct ReceiverEnergyTests {
  /// Coulombs of a pause alone, and until it has its position again.
  private func pause(_ duration: Duration, _ before: [UInt8]?, wake: [UInt8]?) throws -> (alone: Double, whole: Double)
  {
    let bench = try ReceiverBench(.ublox8)
    bench.runUntilFix()
    if let before {
      let count = bench.receiver.commands.count
      try bench.tell(before)
      #expect(eventually { bench.receiver.commands.count > count })
    } else {
      bench.setPower(false)
    }
    let start = bench.receiver.charge.coulombs
    bench.run(duration)
    let alone = bench.receiver.charge.coulombs - start
    if let wake {
      let asleep = bench.receiver.phase
      try bench.tell(wake)
      #expect(eventually { bench.receiver.phase != asleep || asleep == .tracking })
    } else {
      bench.setPower(true)
    }
    bench.runUntilFix()
    return (alone, bench.receiver.charge.coulombs - start)
  }

  @Test(arguments: [1, 10, 60])
  func `each way of sleeping draws what the data sheet says`(_ minutes: Int) throws {
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
    // To find itself again costs less than to have gone on.
    #expect(backup.whole < tracking.whole / 10 && off.whole < tracking.whole / 10)
  }

  @Test func `while it is off it draws only what keeps its memory`() throws {
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
}
