/// The name of a viewer at a broker that this program has chosen, such as `hold-1x2y3z`, or `anna/hold-1x2y3z` for the
/// broker's user `anna`. The name is a part of the topics of the viewer's requests.
struct ViewerName: Hashable {
  enum Purpose: String {
    case watch
    case hold
  }

  let text: String
  /// The broker's user, if the viewer has one.
  let user: String?
  let purpose: Purpose

  /// `nil` for the name of another program's viewer.
  init?(_ text: String) {
    let levels = text.split(separator: "/", omittingEmptySubsequences: false)
    guard let words = levels.last?.split(separator: "-"), levels.count <= 2, words.count == 2,
      let purpose = Purpose(rawValue: String(words[0])), UInt32(words[1], radix: 36) != nil
    else { return nil }
    self.text = text
    user = levels.count == 2 ? String(levels[0]) : nil
    self.purpose = purpose
  }

  /// Makes a unique name without a user, so that two runs do not end each other's connections.
  static func new(for purpose: Purpose) -> String {
    "\(purpose.rawValue)-" + String(UInt32.random(in: .min ... .max), radix: 36)
  }
}
