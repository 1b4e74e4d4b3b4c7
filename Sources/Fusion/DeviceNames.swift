/// What a board's devices are called, in the order of its list.
///
/// A class, so that a state can carry it wherever it goes without a copy.
public final class DeviceNames: Sendable {
  /// Those of recordings, which have at most one device of each kind.
  public static let usual = DeviceNames(["gps", "imu", "mag", "baro", "meter"])

  public let ids: [String]
  /// Of each set of the first devices, by its number: a state is written often, and its sources hardly ever change.
  private let texts: [String]

  public init(_ ids: [String]) {
    self.ids = ids
    texts = (0..<1 << UInt32(min(ids.count, 6))).map { DeviceNames.text(DeviceSet(rawValue: $0), ids) }
  }

  /// `gps+imu`
  public func text(_ set: DeviceSet) -> String {
    Int(set.rawValue) < texts.count ? texts[Int(set.rawValue)] : DeviceNames.text(set, ids)
  }

  private static func text(_ set: DeviceSet, _ ids: [String]) -> String {
    ids.indices.filter { !set.isDisjoint(with: DeviceSet($0)) }.map { ids[$0] }.joined(separator: "+")
  }

  /// The set that a text stands for; names that are not known yet are added.
  public static func set(of text: String, in ids: inout [String]) -> DeviceSet {
    text.split(separator: "+").reduce(into: DeviceSet()) { set, name in
      let index = ids.firstIndex { $0 == name } ?? ids.count
      if index == ids.count { ids.append(String(name)) }
      set.insert(DeviceSet(index))
    }
  }
}
