import Publishing

/// Who holds something in the end: in place of what is derived from devices, which it holds for others, those others. For one look: what
/// was found behind a name stands.
struct Consumers {
  /// By the names under which they hold devices.
  private let derived: [String: Property<Activity>]
  /// Behind those names: most devices are held for the same.
  private var found: [String: [String]] = [:]

  init(of derived: [String: Property<Activity>]) { self.derived = derived }

  /// Each once, in the order in which they came.
  mutating func behind(_ holders: [String]) -> [String] {
    // For the most part one thing holds a device for all: theirs is the list then, as it is.
    if holders.count == 1 { return behind(holders[0]) ?? holders }
    var consumers: [String] = []
    // One client may hold the device in several ways.
    var known: Set<String> = []
    func add(_ holder: String) {
      if known.insert(holder).inserted { consumers.append(holder) }
    }
    for holder in holders {
      if let others = behind(holder) {
        for holder in others { add(holder) }
      } else {
        add(holder)
      }
    }
    return consumers
  }

  /// `nil` where it holds it for itself.
  private mutating func behind(_ holder: String) -> [String]? {
    guard let activity = derived[holder] else { return nil }
    if let consumers = found[holder] { return consumers }
    let consumers = behind(activity.value.holders)
    found[holder] = consumers
    return consumers
  }
}
