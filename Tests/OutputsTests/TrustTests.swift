import Devices
import Fusion
import MonotonicTime
import NMEA
import Testing
import UBX

@testable import Hub
@testable import Outputs

/// A receiver's reports of jamming and spoofing affect the fusion and reach clients.
struct TrustTests {
  private func observation(_ jamming: JammingReport, _ spoofing: SpoofingReport = .unknown) -> GNSSObservation {
    var fix = GNSSFix()
    fix.mode = .threeDimensional
    fix.position = Coordinate(latitudeDegrees: 52, longitudeDegrees: 13)
    fix.horizontalErrorMetres = 2
    fix.verticalErrorMetres = 3
    fix.speedMetresPerSecond = 5
    fix.trackDegrees = 90
    fix.speedErrorMetresPerSecond = 0.1
    fix.interference.jamming = jamming
    fix.interference.spoofing = spoofing
    fix.interference.jammingIndicator = 40
    return GNSSObservation(at: MonotonicInstant(nanoseconds: 0), fix: fix, sky: [])
  }

  @Test func `the more a receiver is disturbed, the larger are its errors`() throws {
    let sigmas = [JammingReport.none, .warning, .critical].map { observation($0).position?.horizontalSigmaMetres ?? 0 }
    #expect(sigmas[0] == 2 && sigmas[0] < sigmas[1] && sigmas[1] < sigmas[2])
    let spoofed = observation(.none, .indicated)
    #expect(try #require(spoofed.position?.horizontalSigmaMetres) >= 100)
    #expect(observation(.none).motion?.horizontalSigmaMetresPerSecond == 0.1)
    #expect(try #require(spoofed.motion?.horizontalSigmaMetresPerSecond) >= 5)
  }

  @Test func `a healthy receiver is preferred to a more accurate one that is jammed`() {
    var choice = ReceiverChoice(count: 2)
    func take(_ rank: Int, _ observation: GNSSObservation, _ second: Int64) -> Bool {
      choice.take(
        rank, sigma: observation.position?.horizontalSigmaMetres,
        at: MonotonicInstant(nanoseconds: second * 1_000_000_000 + Int64(rank)))
    }
    var healthy = observation(.none)
    healthy.fix.horizontalErrorMetres = 4
    for second in 0..<10 as Range<Int64> {
      #expect(take(0, observation(.none), second))
      #expect(!take(1, healthy, second))
    }
    for second in 10..<30 as Range<Int64> {
      _ = take(0, observation(.critical), second)
      _ = take(1, healthy, second)
    }
    #expect(choice.taken == 1)
  }

  @Test func `a state with reports of interference is read as it was written`() throws {
    var state = FusedState(at: MonotonicInstant(nanoseconds: 100_000_000_000))
    var quality = observation(.critical, .multiple).quality
    quality.timeSigmaSeconds = 25e-9
    quality.receiverFusion = .suspended
    state.fix = Dated(quality, at: state.at, source: .gps)
    state.refusal = FusedState.Refusal(since: MonotonicInstant(nanoseconds: 90_000_000_000), metres: 500)
    var json = JSONWriter()
    StateReport.write(state, to: &json)
    let read = try #require(StateReport.read(Array(json.bytes)))
    #expect(read.fix?.value.reception == Reception(jamming: .critical, spoofing: .multiple, jammingIndicator: 40))
    #expect(read.fix?.value.timeSigmaSeconds == 25e-9)
    #expect(read.fix?.value.receiverFusion == .suspended)
    #expect(read.refusal == state.refusal)
    let line = StateLine.text(state)
    #expect(line.contains("jammed") && line.contains("spoofed") && line.contains("500 m off"))
  }

  @Test func `gpsd clients get the member jam only if the receiver reports jamming`() {
    func text(_ interference: Interference) -> String {
      var fix = observation(.none).fix
      fix.interference = interference
      var json = JSONWriter()
      GPSDReport.writePosition(fix, to: &json)
      return String(decoding: json.bytes, as: UTF8.self)
    }
    #expect(text(observation(.none).fix.interference).contains(#""jam":40"#))
    #expect(!text(Interference()).contains("jam"))
  }
}
