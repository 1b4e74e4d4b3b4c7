/// What a fix rests on, by GGA's numbers.
enum GGAQuality {
  /// - Parameter status: of the gpsd protocol
  static func number(ofStatus status: Int) -> Int {
    switch status {
    case 2: 2
    case 3: 4
    case 4: 5
    default: 1
    }
  }
}
