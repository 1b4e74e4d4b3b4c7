import Devices

/// Guesses which driver was meant by an unknown name, such as the name of a module, or of another chip that a driver
/// reads.
enum DriverGuess {
  /// The beginnings of receiver names, by driver.
  private static let receivers = [
    ("ublox", ["ublox", "neo", "zed", "maxm", "samm"]), ("mediatek", ["mtk", "l86"]), ("airoha", ["lc86"]),
    ("casic", ["atgm"]), ("nmea", ["gps", "gnss", "serial"]),
  ]

  /// - Parameter known: the names of all drivers
  /// - Returns: `nil` if none is similar
  static func guess(_ word: String, among known: [String]) -> String? {
    let plain = letters(word)
    guard !plain.isEmpty else { return nil }
    if let same = known.first(where: { letters($0) == plain }) { return same }
    // The title of a catalogue entry names all chips that its driver reads.
    if plain.contains(where: \.isNumber),
      let entry = CatalogueEntry.all.first(where: { entry in
        entry.driver != nil
          && entry.title.split { $0 == " " || $0 == "," || $0 == "/" }.contains { letters($0) == plain }
      })
    {
      return entry.driver?.name
    }
    if let receiver = receivers.first(where: { $0.1.contains { plain.hasPrefix($0) } }) { return receiver.0 }
    return NearestWord.guess(word, among: known)
  }

  /// The letters and digits of a name, so that `MPU-6500` equals `mpu6500`.
  private static func letters(_ word: some StringProtocol) -> String {
    word.lowercased().filter { $0.isLetter || $0.isNumber }
  }
}
