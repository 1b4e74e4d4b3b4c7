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

  // MARK: Every way of every receiver

  /// How a receiver spends a pause.
  private struct Rest {
    enum Beginning {
      case told([UInt8])
      case supplyOff
      /// It goes on tracking.
      case nothing
    }

    enum End {
      case told([UInt8])
      case supplyOn
      case nothing
    }

    var name: String
    var beginning: Beginning
    var end: End
    var hasBackupSupply = true
  }

  private static func said(_ text: String) -> [UInt8] { Array(nmeaLine(text).utf8) }

  private static func rests(of personality: ReceiverPersonality) -> [Rest] {
    let stop = Rest(name: "stop", beginning: .told(ubx(6, 4, [0, 0, 8, 0])), end: .told(ubx(6, 4, [0, 0, 9, 0])))
    let own: [Rest] =
      switch personality {
      case .ublox6, .ublox7, .ublox8:
        [stop, Rest(name: "backup", beginning: .told(ubx(2, 0x41, [0, 0, 0, 0, 2, 0, 0, 0])), end: .told([0xFF]))]
      case .ublox9, .ublox10:
        [
          stop,
          Rest(
            name: "backup", beginning: .told(ubx(2, 0x41, [0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 8, 0, 0, 0])),
            end: .told([0xFF])),
        ]
      case .mediatek:
        [
          Rest(name: "standby", beginning: .told(said("PMTK161,0")), end: .told([0x0D])),
          Rest(name: "backup", beginning: .told(said("PMTK225,4")), end: .supplyOn),
        ]
      case .airoha:
        [
          Rest(name: "standby", beginning: .told(said("PAIR003")), end: .told(said("PAIR002"))),
          Rest(name: "backup", beginning: .told(said("PAIR650,0")), end: .supplyOn),
        ]
      case .casic: [Rest(name: "standby", beginning: .told(said("PCAS12,65535")), end: .supplyOn)]
      }
    return [Rest(name: "on", beginning: .nothing, end: .nothing)] + own + [
      Rest(name: "off", beginning: .supplyOff, end: .supplyOn),
      Rest(name: "off, memory too", beginning: .supplyOff, end: .supplyOn, hasBackupSupply: false),
    ]
  }

  /// Milliwatt-hours of a pause, until it has its position again, at 3.3 V.
  private func energy(_ personality: ReceiverPersonality, _ rest: Rest, _ pause: Duration) throws -> Double {
    var configuration = CommandedReceiver.Configuration()
    configuration.hasBackupSupply = rest.hasBackupSupply
    let bench = try ReceiverBench(personality, configuration)
    bench.runUntilFix()
    let start = bench.receiver.charge.coulombs
    switch rest.beginning {
    case .told(let bytes):
      try bench.tell(bytes)
      #expect(eventually { bench.receiver.phase != .tracking }, "\(personality), \(rest.name)")
    case .supplyOff: bench.setPower(false)
    case .nothing: break
    }
    bench.run(pause)
    let asleep = bench.receiver.phase
    switch rest.end {
    case .told(let bytes):
      try bench.tell(bytes)
      #expect(eventually { bench.receiver.phase != asleep }, "\(personality), \(rest.name)")
    case .supplyOn:
      bench.setPower(false)
      bench.setPower(true)
    case .nothing: break
    }
    bench.runUntilFix()
    #expect(bench.receiver.phase == .tracking, "\(personality), \(rest.name)")
    return (bench.receiver.charge.coulombs - start) * 3.3 / 3.6
  }

  private func text(_ energy: Double) -> String {
    let hundredths = Int((energy * 100).rounded())
    return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
  }

  @Test(arguments: ReceiverPersonality.allCases)
  func `what a pause costs, by how it is spent, its end included`(_ personality: ReceiverPersonality) throws {
    for minutes in [1, 10, 60] {
      let costs = try ReceiverEnergyTests.rests(of: personality).map { rest in
        (name: rest.name, energy: try energy(personality, rest, .seconds(60 * minutes)))
      }
      let list = costs.map { "\($0.name) \(text($0.energy))" }.joined(separator: ", ")
      print("pause of \(minutes) min, \(personality.rawValue), mWh: \(list)")
      let on = costs[0].energy
      #expect(costs.dropFirst().allSatisfy { $0.energy < on }, "\(list)")
      // The receiving part alone is stopped: of all ways that one draws the most, in the long run.
      if minutes == 60, let stop = costs.first(where: { $0.name == "stop" }) {
        #expect(costs.dropFirst().allSatisfy { $0.energy <= stop.energy }, "\(list)")
      }
      // Who has lost what it knew pays for a cold start, however short the pause.
      let off = costs.suffix(2).map(\.energy)
      #expect(off[1] > off[0], "\(list)")
    }
  }
}
