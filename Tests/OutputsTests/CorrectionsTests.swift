import Devices
import Fusion
import Glibc
import MonotonicTime
import NMEA
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Hub
@testable import Outputs

/// A receiver, its caster, and the hub between them.
@Suite(.timeLimit(.minutes(10)))
struct CorrectionsTests {
  private static let epoch = MadeMessage.correction(1005) + MadeMessage.correction(1077, byteCount: 400)

  /// A hub with a carrier-phase receiver, and the recorded reports.
  private final class Rig: Sendable {
    let hardware = SimulatedHardware()
    let receiver: CommandedReceiver
    let host: HubHost
    let output: CorrectionsOutput
    let log = Recorder<String>()
    let statuses = Recorder<DeviceStatus>()
    private let lifetime = Lifetime()

    /// - Parameter silence: how long a caster may be silent before the hub disconnects
    init(
      _ caster: ScriptedCaster, _ more: String = "", receiver settings: String = #"messages: "ubx","#,
      silence: Duration = .seconds(3600), before others: String = ""
    ) throws {
      var configuration = CommandedReceiver.Configuration()
      configuration.timeToFirstFixScale = 0.02
      configuration.takesCorrections = true
      receiver = hardware.receiver(.ublox9, configuration: configuration)
      let board = try Rig.board(caster, more, settings, before: others)
      host = HubHost(Hub(board: board, hardware: hardware), version: "test")
      let sink = JournalSink(to: Nowhere())
      var patience = CasterVisit.Patience()
      (patience.answer, patience.silence) = (.seconds(3600), silence)
      output = CorrectionsOutput(host: host, sink: sink, patience: patience)
      sink.observe { [log] in log.append($0.message) }.store(in: lifetime)
      output.begin().store(in: lifetime)
      host.hub.receiver?.monitor.changes.subscribe(
        as: "test", receiveValue: { [statuses] in statuses.append($0) }
      )
      .store(in: lifetime)
    }

    static func board(
      _ caster: ScriptedCaster, _ more: String = "", _ settings: String = #"messages: "ubx","#,
      before others: String = ""
    ) throws -> Board {
      try Board(
        json5: Array(
          """
          { name: "test", devices: { gps: { driver: "ublox", port: "simulated/ublox-9", rateHz: 5, \(settings)
            ntrip: { caster: [\(others)"ntrip://127.0.0.1:\(caster.port)/BASE"]\(more) },
            power: { switch: "gpio", chip: "simulated", line: "ublox-9-power", lingerSeconds: 0 } } } }
          """.utf8), file: "test")
    }

    var status: DeviceStatus { host.hub.devices[0] }
    var corrections: CorrectionStatus? { status.corrections }

    func fixes() throws -> (Recorder<GNSSFix>, Subscription) {
      let fixes = Recorder<GNSSFix>()
      let epochs = host.hub.epochs(of: "gps")
      return (fixes, epochs.subscribe(as: "watch[1]", receiveValue: { fixes.append($0.fix) }))
    }

    /// Blocks until the receiver's status meets a condition. Returns whether it did before the deadline of a test.
    func waits(until isMet: (DeviceStatus) -> Bool) -> Bool {
      host.hub.monitors[0].changes.waits(until: isMet)
    }

    func end() async {
      output.end()
      lifetime.end()
      host.hub.shutDown()
      await host.hub.isOff()
    }
  }

  private struct Nowhere: LogDestination {
    func write(_ entry: LogEntry) {}
  }

  /// Sends corrections repeatedly, cut anywhere, while the client takes them.
  private static func serve(_ visit: ScriptedCaster.Visit) {
    visit.send("HTTP/1.1 200 OK\r\nContent-Type: gnss/data\r\nTransfer-Encoding: chunked\r\n\r\n")
    var looks = 0
    hold {
      looks += 1
      // This happens about ten times a second, which suffices without occupying the machine.
      guard looks % 20 == 1 else { return !visit.isOpen }
      for piece in [epoch[..<7], epoch[7..<100], epoch[100...]] {
        visit.send(Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + Array("\r\n".utf8))
      }
      return !visit.isOpen
    }
  }

  @Test func `if a caster has no corrections, the next one in the list is used`() async throws {
    let first = ScriptedCaster { visit in
      visit.send("HTTP/1.1 503 Service Unavailable\r\n\r\n")
      visit.close()
    }
    let second = ScriptedCaster { CorrectionsTests.serve($0) }
    let rig = try Rig(second, before: "\"ntrip://127.0.0.1:\(first.port)/BASE\", ")
    #expect(rig.corrections?.source == "ntrip://127.0.0.1:\(first.port)/BASE")
    let (fixes, subscription) = try rig.fixes()
    // There is no pause, because the second caster has not been asked yet.
    #expect(rig.host.hub.waits { rig.corrections?.phase == .receiving }, "\(rig.status)")
    #expect(rig.corrections?.source == "ntrip://127.0.0.1:\(second.port)/BASE")
    #expect(first.visits.values.count >= 1 && second.visits.values.count == 1)
    #expect(rig.waits { $0.warning == nil }, "\(rig.status)")
    #expect(fixes.waits { $0.contains { $0.status == .rtkFixed } }, "\(rig.status)")
    subscription.cancel()
    await rig.end()
  }

  @Test(arguments: [#"messages: "ubx","#, #"messages: "nmea","#])
  func `a receiver with a client gets corrections and reports them, and otherwise there is no connection`(
    _ settings: String
  ) async throws {
    let caster = ScriptedCaster { CorrectionsTests.serve($0) }
    let rig = try Rig(caster, receiver: settings)
    #expect(rig.corrections?.phase == .off && rig.corrections?.source == "ntrip://127.0.0.1:\(caster.port)/BASE")
    for visit in 1...2 {
      #expect(caster.visits.values.count == visit - 1)
      let (fixes, subscription) = try rig.fixes()
      #expect(fixes.waits { $0.contains { $0.status == .rtkFixed } }, "\(rig.status)")
      let fixed = try #require(fixes.values.first { $0.status == .rtkFixed })
      let age = try #require(fixed.differentialAgeSeconds)
      #expect(age >= 0 && age <= 120)
      // The fix is also part of the fused state, which the receiver's next epochs reach too.
      #expect(
        fixes.waits { _ in
          let known = rig.host.hub.knownState(at: rig.host.now).fix?.value
          return known?.status == 3 && known?.correctionAgeSeconds != nil
        })
      // The first message of an epoch suffices, before the second has come.
      #expect(
        rig.host.hub.waits {
          rig.corrections?.messages.keys.contains(1077) == true && rig.receiver.commands.contains(.correction(1077))
        }, "\(rig.status)")
      let corrections = try #require(rig.corrections)
      #expect(corrections.phase == .receiving && corrections.reason == nil && corrections.connections == visit)
      #expect(corrections.messages.keys.sorted() == [1005, 1077] && corrections.bytes > 0)
      let metrics = MetricsReport.text(rig.host)
      #expect(metrics.contains("sensorhub_correction_phase{device=\"gps\",phase=\"receiving\"} 1\n"))
      #expect(metrics.contains("sensorhub_correction_messages_total{device=\"gps\",message=\"1077\"} "))
      if settings.contains("ubx") {
        #expect(rig.host.hub.waits { rig.corrections.map { $0.outcomes.used > 0 && $0.outcomes.damaged == 0 } == true })
        #expect(
          MetricsReport.text(rig.host).contains(
            "sensorhub_correction_receiver_messages_total{device=\"gps\",outcome=\"used\"} "))
      } else {
        #expect(rig.corrections?.outcomes.isEmpty == true && !metrics.contains("correction_receiver_messages"))
      }
      #expect(rig.status.warning == nil)
      subscription.cancel()
      #expect(caster.visits.values.allSatisfy { $0.waitsForEnd() })
      #expect(rig.host.hub.waits { rig.corrections?.phase == .off })
    }
    #expect(caster.visits.values.count == 2)
    #expect(rig.log.waits { $0.count == 4 }, "\(rig.log.values)")
    #expect(rig.log.values.first == "gps: corrections come from ntrip://127.0.0.1:\(caster.port)/BASE")
    #expect(rig.log.values[1].contains("messages (1005, 1077), "))
    await rig.end()
  }

  @Test func `a silent caster is disconnected and tried again, with a warning in the meantime`() async throws {
    let caster = ScriptedCaster { visit in
      visit.send("ICY 200 OK\r\n")
      visit.send(CorrectionsTests.epoch)
    }
    let rig = try Rig(caster, silence: .seconds(2))
    let (_, subscription) = try rig.fixes()
    #expect(caster.visits.waits { $0.count >= 2 }, "\(rig.status)")
    #expect(rig.statuses.waits { $0.contains { $0.warning?.hasSuffix("the caster does not answer") == true } })
    #expect(
      rig.host.hub.waits {
        guard let corrections = rig.corrections else { return false }
        return corrections.connections >= 2 && corrections.phase == .receiving && rig.status.warning == nil
      }, "\(rig.status)")
    subscription.cancel()
    await rig.end()
  }

  @Test func `a caster that closes the connection is tried again, with a warning in the meantime`() async throws {
    let caster = ScriptedCaster { CorrectionsTests.serve($0) }
    let rig = try Rig(caster)
    let (_, subscription) = try rig.fixes()
    for visit in 1...2 {
      #expect(
        rig.host.hub.waits {
          rig.corrections?.connections == visit && rig.corrections?.phase == .receiving && rig.status.warning == nil
        }, "\(rig.status)")
      if visit == 1 { caster.visits.values[0].close() }
    }
    #expect(rig.statuses.waits { $0.contains { $0.warning?.hasSuffix("the caster closed the connection") == true } })
    #expect(caster.visits.values.count == 2)
    subscription.cancel()
    await rig.end()
  }

  @Test func `a caster's refusal is reported once, and the next visit does not connect again at once`() async throws {
    let caster = ScriptedCaster { visit in
      visit.send("HTTP/1.1 401 Unauthorized\r\n\r\n")
      visit.close()
    }
    let rig = try Rig(caster)
    let clock = MonotonicClock()
    let began = clock.now
    for _ in 1...3 {
      let (fixes, subscription) = try rig.fixes()
      #expect(fixes.waits { $0.contains { $0.mode >= .twoDimensional } })
      #expect(rig.host.hub.waits { rig.corrections?.phase == .waiting })
      // The reason for waiting is reported a moment later.
      let reason =
        "the caster needs a user and a password: set the user in 'ntrip.caster' (ntrip://user@…) and the password in 'ntrip.passwordFile'"
      #expect(rig.waits { $0.warning?.hasSuffix(reason) == true }, "\(rig.status)")
      subscription.cancel()
      #expect(rig.host.hub.waits { rig.corrections?.phase == .off && rig.status.power == .off })
    }
    // The hub does not return within a minute. On a machine that also runs other programs this may take longer than one
    // minute.
    let minutes = Int((clock.now - began).inSeconds / 60)
    #expect((1...(1 + minutes)).contains(caster.visits.values.count) && rig.log.values.isEmpty)
    await rig.end()
  }

  @Test func `the position is sent in the stated form, to a caster whose corrections depend on it`()
    async throws
  {
    let caster = ScriptedCaster { $0.send("ICY 200 OK\r\n") }
    let rig = try Rig(caster, ", gga: 1")
    let (fixes, subscription) = try rig.fixes()
    #expect(caster.visits.waits { !$0.isEmpty }, "\(rig.status)")
    #expect(caster.visits.values.first?.receives(lineCount: 1) == true, "\(rig.status)")
    let sentence = try #require(caster.visits.values.first?.told.split(separator: "\r\n").first)
    var framer = SentenceFramer()
    var assembler = EpochAssembler(promptness: .certain)
    var told: GNSSFix?
    Array("\(sentence)\r\n".utf8).withUnsafeBufferPointer { bytes in
      framer.push(bytes) { raw in _ = assembler.consume(raw) { told = $0.fix } }
    }
    assembler.finish { told = $0.fix }
    let place = try #require(told?.position)
    // The last fix may be reported before it is given to subscribers.
    #expect(
      fixes.waits { fixes in
        fixes.compactMap(\.position).contains { its in
          abs(its.latitudeDegrees - place.latitudeDegrees) < 1e-6
            && abs(its.longitudeDegrees - place.longitudeDegrees) < 1e-6
        }
      })
    subscription.cancel()
    await rig.end()
  }

  @Test func `a reload leaves an unchanged caster connected, and connects to a changed one`()
    async throws
  {
    let (first, second) = (
      ScriptedCaster { CorrectionsTests.serve($0) }, ScriptedCaster { CorrectionsTests.serve($0) }
    )
    let rig = try Rig(first)
    let lease = rig.host.hub.powerLease(of: "gps").subscribe(as: "watch[1]", receiveValue: { _ in })
    #expect(rig.host.hub.waits { rig.corrections?.phase == .receiving })
    #expect(await rig.host.serve(try Rig.board(first)) == [])
    #expect(rig.corrections?.phase == .receiving && first.visits.values.count == 1)
    #expect(await rig.host.serve(try Rig.board(second)) == [])
    #expect(
      rig.host.hub.waits {
        rig.corrections?.source.hasSuffix(":\(second.port)/BASE") == true && rig.corrections?.phase == .receiving
      })
    #expect(first.visits.values.allSatisfy { $0.waitsForEnd() })
    // The receiver itself was awake throughout.
    #expect(rig.status.wakes == 1 && first.visits.values.count == 1)
    lease.cancel()
    await rig.end()
  }
}
