/// Escapes text for systemd's unit files and drop-ins (systemd.syntax(7), systemd.unit(5)).
public enum UnitText {
  /// One word of a list, such as a path. It is quoted, so that a blank does not start a second word, and `%` is
  /// doubled, so that it starts no specifier.
  ///
  /// - Returns: `nil` if the text has control characters or line separators, which no unit file can contain; a line end
  ///   would start another directive
  public static func word(_ text: String) -> String? {
    var word = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "%": word += "%%"
      case "\\": word += "\\\\"
      case "\"": word += "\\\""
      case _ where scalar.properties.generalCategory == .control: return nil
      case "\u{2028}", "\u{2029}": return nil
      default: word.unicodeScalars.append(scalar)
      }
    }
    return word + "\""
  }

  /// A path in the form of a setting such as `ReadWritePaths=`; `nil` if it is not absolute, names the root, contains
  /// `..`, or has characters that no unit file can contain.
  ///
  /// - Parameter isOptional: whether the unit starts without it
  public static func path(_ path: String, isOptional: Bool) -> String? {
    let parts = path.utf8.split(separator: UInt8(ascii: "/"))
    guard path.utf8.first == UInt8(ascii: "/"), !parts.isEmpty, !parts.contains(where: { $0.elementsEqual("..".utf8) })
    else { return nil }
    return word((isOptional ? "-" : "") + path)
  }

  /// The instance of a template unit, escaped as `systemd-escape` does, so that it contains no blank and no specifier:
  /// `ttyAMA0` in `serial-getty@ttyAMA0.service`.
  public static func instance(_ name: String) -> String {
    name.utf8.enumerated().reduce(into: "") { escaped, entry in
      let (index, byte) = entry
      switch byte {
      case UInt8(ascii: "/"): escaped += "-"
      case UInt8(ascii: ".") where index == 0: escaped += "\\x2e"
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: ":"), UInt8(ascii: "_"), UInt8(ascii: "."):
        escaped.unicodeScalars.append(UnicodeScalar(byte))
      default: escaped += (byte < 16 ? "\\x0" : "\\x") + String(byte, radix: 16)
      }
    }
  }
}
