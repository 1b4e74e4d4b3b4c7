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
