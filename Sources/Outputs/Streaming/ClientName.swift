/// The form in which a client's name is shown. The client has chosen the name, or it is that of the client's process.
/// It cannot be mistaken for one of the hub's own names.
///
/// The hub's own names for holders contain a blank (`gpsd 127.0.0.1:40022`, `held for 127.0.0.1`) or have no number
/// after them (`journal`). A client's name is followed by the number of its process. The name is in quotes if it has
/// more than one word or equals one of the hub's own names, because the numbers are left out where the energy per
/// client is counted.
enum ClientName {
  /// The maximum length of a name in bytes as it is shown, including quotes.
  static let byteLimit = 40

  /// The names under which the hub itself holds devices.
  private static let own: Set = [
    "chrony", "clock", "epochs", "fixes", "journal", "mqtt", "recorder", "reload", "replay", "sentences", "state",
  ]

  /// The name as it is shown: at most `byteLimit` bytes, cut between characters, with control and invisible characters
  /// escaped; `nil` if nothing remains.
  static func shown(_ name: String) -> String? {
    let isWord = name.unicodeScalars.allSatisfy(isPlain) && !own.contains(name)
    var room = byteLimit - (isWord ? 0 : 2)
    var shown = ""
    for character in name {
      let text = character.unicodeScalars.reduce(into: "") { text, scalar in
        text += scalar == "\"" || scalar == "\\" ? "\\\(scalar)" : Text.printable(scalar)
      }
      room -= text.utf8.count
      if room < 0 { break }
      shown += text
    }
    if shown.isEmpty { return nil }
    return isWord ? shown : "\"\(shown)\""
  }

  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber: true
    default: "-_.+@/".unicodeScalars.contains(scalar)
    }
  }
}
