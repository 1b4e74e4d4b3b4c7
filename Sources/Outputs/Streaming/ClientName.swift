/// What a client is called, by itself or by its process, in a form in which it can pass for nothing else.
///
/// The hub's own names for who holds a device have a blank in them (`gpsd 127.0.0.1:40022`, `held for 127.0.0.1`) or no number
/// behind them (`journal`). A client's has the number of its process behind it, and stands in quotes where it is more than a
/// word, or one of the hub's own names: bills have no numbers.
enum ClientName {
  /// What is shown of a name, quotes included.
  static let byteLimit = 40

  /// What holds devices for the hub itself.
  private static let own: Set = [
    "chrony", "clock", "epochs", "fixes", "journal", "mqtt", "recorder", "reload", "replay", "sentences", "state",
  ]

  /// A name as it is shown: at most `byteLimit` bytes, cut between characters, with everything written out that hides or moves
  /// the cursor; `nil` where nothing is left of it.
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
