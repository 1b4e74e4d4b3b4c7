import Recording
import SystemPackage

/// A format that tracks are written in.
protocol TrackWriter: ~Copyable {
  /// Takes the next point.
  mutating func add(_ point: TrackPoint, beginsSegment: Bool) throws(Errno)
  /// Writes what closes the file. There has been a point.
  mutating func finish() throws(Errno)
}

/// Texts in formats that are XML.
enum XMLText {
  /// Text between tags: what XML gives a meaning to is written out, and what it has no place for left out.
  static func escaped(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { escaped, scalar in
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\t", "\n", "\r": escaped += " "
      case "\u{0}"..<" ", "\u{FFFE}", "\u{FFFF}": break
      default: escaped.unicodeScalars.append(scalar)
      }
    }
  }
}
