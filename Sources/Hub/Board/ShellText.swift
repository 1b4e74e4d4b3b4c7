/// Quotes text for commands that a person types into a shell.
public enum ShellText {
  /// One word for a POSIX shell: unchanged if no character has a special meaning, otherwise in single quotes.
  public static func word(_ text: String) -> String {
    let isPlain =
      !text.isEmpty
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        default: "-_./:@%+=,".utf8.contains(byte)
        }
      }
    if isPlain { return text }
    let inner = text.unicodeScalars.reduce(into: "") { quoted, scalar in
      if scalar == "'" { quoted += "'\\''" } else { quoted.unicodeScalars.append(scalar) }
    }
    return "'\(inner)'"
  }
}
