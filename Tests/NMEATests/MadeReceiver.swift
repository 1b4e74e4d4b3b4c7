import NMEA
import TestSupport

/// A synthetic receiver: its output in an epoch, and how its line delivers it.
struct MadeReceiver {
  enum Kind: String, CaseIterable { case rmc, gga, gll, gns, vtg, gsa, gsv, zda, gst, rmb }

  /// A piece of the bytes on the line.
  struct Read {
    var atNanoseconds: Int64
    var bytes: [UInt8]
  }

  /// Returns the sentences of an epoch. Each epoch has its own position, so that no position can stand for another.
  static func epoch(_ kinds: [Kind], number: Int, second: Double, talker: String = "GP") -> String {
    kinds.map { sentence($0, number, second, talker) }.joined()
  }

  static func sentence(_ kind: Kind, _ number: Int, _ second: Double, _ talker: String) -> String {
    let whole = Int(second) % 86400
    let hundredths = Int((second - second.rounded(.down)) * 100 + 0.5)
    let time = two(whole / 3600) + two(whole / 60 % 60) + two(whole % 60) + "." + two(hundredths)
    let minutes = String(10000 + number).dropFirst()
    let position = "5231.\(minutes),N,01322.\(minutes),E"
    let body =
      switch kind {
      case .rmc: "RMC,\(time),A,\(position),1.0,45.0,211126,,,A"
      case .gga: "GGA,\(time),\(position),1,08,0.9,40.0,M,40.0,M,,"
      case .gll: "GLL,\(position),\(time),A,A"
      case .gns: "GNS,\(time),\(position),AN,08,0.9,40.0,40.0,,"
      case .vtg: "VTG,45.0,T,,M,1.0,N,1.9,K,A"
      case .gsa: "GSA,A,3,01,02,03,04,,,,,,,,,1.6,0.9,1.3"
      case .gsv: "GSV,1,1,02,02,62,105,45,05,31,051,41"
      case .zda: "ZDA,\(time),21,11,2026,00,00"
      case .gst: "GST,\(time),1.0,1.0,1.0,0.0,1.0,1.0,2.0"
      case .rmb: "RMB,A,0.1,R,ONE,TWO,5231.0,N,01322.0,E,1.0,45.0,1.0,V"
      }
    return nmeaLine(talker + body)
  }

  /// Returns the same sentence with another date.
  static func dated(_ sentence: String, _ date: String) -> String {
    let body = sentence.split(separator: "*")[0].dropFirst().replacing("211126", with: date)
    return nmeaLine(String(body))
  }

  private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

/// The epochs that a live assembler makes of a line, and those that a recording of the same bytes yields.
struct LiveAssembly {
  struct Epoch: Equatable {
    var time: UTCTime?
    var position: Coordinate?
  }

  var live: [Epoch] = []
  /// The times in nanoseconds at which each epoch was reported and its first byte arrived.
  var reportedAt: [Int64] = []
  var beganAt: [Int64] = []
  var recorded: [Epoch] = []

  /// Reads like a receiver's reader: one read at a time, or silence.
  init(_ reads: [MadeReceiver.Read]) {
    var framer = SentenceFramer()
    var assembler = EpochAssembler(promptness: .learned)
    var now: Int64 = 0
    func take(_ epoch: borrowing GNSSEpoch) {
      live.append(Epoch(time: epoch.fix.time, position: epoch.fix.mode >= .twoDimensional ? epoch.fix.position : nil))
      reportedAt.append(now)
      beganAt.append(epoch.beganAt)
    }
    for read in reads {
      if let quiet = assembler.silenceThatEnds, read.atNanoseconds - now >= quiet {
        now += quiet
        assembler.finish { take($0) }
      }
      now = read.atNanoseconds
      read.bytes.withUnsafeBufferPointer { bytes in
        framer.push(bytes, readAt: now) { raw in assembler.consume(raw) { take($0) } }
      }
    }
    if let quiet = assembler.silenceThatEnds { now += quiet }
    assembler.finish { take($0) }

    var recording = SentenceFramer()
    var certain = EpochAssembler(promptness: .certain)
    func keep(_ epoch: borrowing GNSSEpoch) {
      recorded.append(
        Epoch(time: epoch.fix.time, position: epoch.fix.mode >= .twoDimensional ? epoch.fix.position : nil))
    }
    reads.flatMap(\.bytes).withUnsafeBufferPointer { bytes in
      recording.push(bytes) { raw in certain.consume(raw) { keep($0) } }
    }
    certain.finish { keep($0) }
  }
}
