/// Returns a line of NMEA 0183: the body between `$` and `*`, with checksum and line end.
public func nmeaLine(_ body: String) -> String {
  let sum = String(body.utf8.reduce(0) { $0 ^ $1 }, radix: 16, uppercase: true)
  return "$\(body)*\(sum.count < 2 ? "0" : "")\(sum)\r\n"
}
