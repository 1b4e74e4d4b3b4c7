import Fusion
import Hub
import MonotonicTime
import Testing

/// Inputs whose times cannot be true, as a damaged recording may contain them.
struct DamagedInstantTests {
  private func epoch(at nanoseconds: Int64, utc: Int64?) -> ReceiverEpoch {
    ReceiverEpoch(
      at: MonotonicInstant(nanoseconds: nanoseconds),
      quality: FusedState.FixQuality(mode: 3, status: 1, satellitesUsed: 9, hdop: 1, utcNanoseconds: utc),
      position: FusedState.Position(
        latitudeDegrees: 52, longitudeDegrees: 13, altitudeHAEMetres: 40, altitudeMSLMetres: nil,
        horizontalSigmaMetres: 2, verticalSigmaMetres: 4), motion: nil)
  }

  @Test(arguments: [Int64.min, .max]) func `a time at the end of its range does not end the process`(_ extreme: Int64)
    throws
  {
    let text = "{ name: 'test', devices: { gps: { driver: 'nmea', port: 'nowhere', fixLatencyMilliseconds: 100 } } }"
    var fuser = Fuser(try Board(json5: Array(text.utf8), file: "test"))
    func at(_ seconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: seconds * 1_000_000_000) }
    _ = fuser.apply(.begin(FusionKnowledge()), at: at(0))
    // The latency is subtracted from the earliest instant.
    #expect(fuser.apply(.epoch(0, epoch(at: .min, utc: nil)), at: at(1)) != nil)
    #expect(fuser.apply(.epoch(0, epoch(at: 2_000_000_000, utc: extreme)), at: at(2))?.mode == .gnss)
    // The clock continues the last stated time.
    let last = fuser.apply(.epoch(0, epoch(at: 3_000_000_000, utc: nil)), at: at(3))
    #expect(last?.mode == .gnss && last?.fix?.value.utcNanoseconds != nil)
  }
}
