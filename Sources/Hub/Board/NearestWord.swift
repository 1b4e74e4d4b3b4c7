import Devices

/// Guesses which known word an unknown one was meant to be.
public enum NearestWord {
  /// - Returns: `nil` if no known word is similar enough
  public static func guess(_ word: String, among known: [String]) -> String? {
    guard let nearest = known.min(by: { editDistance($0, word) < editDistance($1, word) }) else { return nil }
    // A missing unit is more likely than a similar word: `radius` means `radiusMetres`.
    if editDistance(nearest, word) > 1, word.utf8.count > 2, let longer = known.first(where: { $0.hasPrefix(word) }) {
      return longer
    }
    return editDistance(nearest, word) <= 1 + word.count / 2 ? nearest : nil
  }

  /// The likely words, the likeliest first.
  public static func guesses(_ word: String, among known: [String], atMost count: Int) -> [String] {
    let near = known.map { (name: $0, distance: editDistance($0, word)) }.filter { $0.distance <= 1 + word.count / 2 }
    return near.sorted { ($0.distance, $0.name) < ($1.distance, $1.name) }.prefix(count).map(\.name)
  }
}

/// Guesses which driver was meant by an unknown name, such as the name of a module, or of another chip that a driver
/// reads.
enum DriverGuess {
  /// The beginnings of receiver names, by driver.
  private static let receivers = [
    ("ublox", ["ublox", "neo", "zed", "maxm", "samm"]), ("mediatek", ["mtk", "l86"]), ("airoha", ["lc86"]),
    ("quectel", ["lg29", "lg58", "lg68"]), ("casic", ["atgm"]), ("unicore", ["um9"]),
    ("nmea", ["gps", "gnss", "serial"]),
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
