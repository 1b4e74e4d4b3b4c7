/// The output of a receiver at 10 Hz, one sentence at a time.
struct SoakReceiver {
  private static let bodies = [
    "GNRMC,hhmmss.s0,A,5231.0172,N,01322.7062,E,17.081,355.63,DDMMYY,,,A,V",
    "GNGGA,hhmmss.s0,5231.0172,N,01322.7062,E,1,08,0.90,37.3,M,41.0,M,,",
    "GNGSA,A,3,02,05,12,13,15,18,24,29,,,,,1.60,0.90,1.32,1",
    "GPGSV,2,1,08,02,62,105,45,05,31,051,41,12,48,301,43,13,22,182,37,1",
    "GPGSV,2,2,08,15,71,230,47,18,12,321,33,24,38,263,42,29,17,089,35,1",
  ].map { Array($0.utf8) }
  static let sentencesPerEpoch = bodies.count

  private var sentence = 0
  private var tenths = 0
  /// The day since 1 November 2026; a month in total.
  private var day = 0

  /// The next sentence, including its line ending.
  mutating func next() -> [UInt8] {
    var body = SoakReceiver.bodies[sentence]
    let seconds = tenths / 10
    switch sentence {
    case 0:
      stamp(&body, seconds)
      let date = body.count - 12
      put(&body, date, 1 + day % 28)
      put(&body, date + 2, 11)
      put(&body, date + 4, 26)
    case 1: stamp(&body, seconds)
    default: break
    }
    sentence += 1
    if sentence == SoakReceiver.bodies.count {
      sentence = 0
      tenths += 1
      if tenths == 864_000 { (tenths, day) = (0, day + 1) }
    }
    let sum = body.withUnsafeBufferPointer { $0.reduce(0) { $0 ^ $1 } }
    let digits = Array("0123456789ABCDEF".utf8)
    return [UInt8(ascii: "$")] + body + [UInt8(ascii: "*"), digits[Int(sum >> 4)], digits[Int(sum & 15)], 13, 10]
  }

  private func stamp(_ body: inout [UInt8], _ seconds: Int) {
    put(&body, 6, seconds / 3600)
    put(&body, 8, seconds / 60 % 60)
    put(&body, 10, seconds % 60)
    body[13] = UInt8(ascii: "0") + UInt8(tenths % 10)
  }

  private func put(_ body: inout [UInt8], _ index: Int, _ value: Int) {
    body[index] = UInt8(ascii: "0") + UInt8(value / 10)
    body[index + 1] = UInt8(ascii: "0") + UInt8(value % 10)
  }
}
