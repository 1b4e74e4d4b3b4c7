/// The characters that stand for the kind of a fix in sentences. The values of `status` are those of the gpsd protocol:
/// 2 differential, 3 RTK fixed, 4 RTK float, 5 dead reckoning, 7 surveyed, 8 simulated, 9 P(Y) code.
enum FixLetter {
  /// The quality in GGA.
  static func quality(ofStatus status: Int) -> Int {
    switch status {
    case 2: 2
    case 3: 4
    case 4: 5
    case 5: 6
    case 7: 7
    case 8: 8
    case 9: 3
    default: 1
    }
  }

  /// The mode indicator of RMC and VTG.
  static func mode(ofStatus status: Int) -> String {
    switch status {
    case 2: "D"
    case 3: "R"
    case 4: "F"
    case 5: "E"
    case 7: "M"
    case 8: "S"
    case 9: "P"
    default: "A"
    }
  }
}
