/// The names of a board's devices, in the order of its list.
///
/// This is a class so that a state can refer to it without a copy.
public final class DeviceNames: Sendable {
  /// The names for recordings, which have at most one device of each kind.
  public static let usual = DeviceNames(["gps", "imu", "mag", "baro", "meter"])

  public let ids: [String]
  /// The texts of all sets of the first six devices, made in advance: a state is written often, and its sources rarely
  /// change.
  private let texts: [String]

  public init(_ ids: [String]) {
    self.ids = ids
    texts = (0..<1 << UInt32(min(ids.count, 6))).map { DeviceNames.text(DeviceSet(rawValue: $0), ids) }
  }

  /// The names in a set, for example `gps+imu`.
  public func text(_ set: DeviceSet) -> String {
    Int(set.rawValue) < texts.count ? texts[Int(set.rawValue)] : DeviceNames.text(set, ids)
  }

  /// The same devices in the numbering of another board. Devices that the other board does not have are left out.
  public func set(_ set: DeviceSet, in other: DeviceNames) -> DeviceSet {
    if self === other { return set }
    return ids.indices.reduce(into: DeviceSet()) { result, index in
      guard !set.isDisjoint(with: DeviceSet(index)), let place = other.ids.firstIndex(of: ids[index]) else { return }
      result.insert(DeviceSet(place))
    }
  }

  private static func text(_ set: DeviceSet, _ ids: [String]) -> String {
    ids.indices.filter { !set.isDisjoint(with: DeviceSet($0)) }.map { ids[$0] }.joined(separator: "+")
  }

  /// The set described by a text. Unknown names are appended to `ids`.
  public static func set(of text: String, in ids: inout [String]) -> DeviceSet {
    text.split(separator: "+").reduce(into: DeviceSet()) { set, name in
      let index = ids.firstIndex { $0 == name } ?? ids.count
      if index == ids.count { ids.append(String(name)) }
      set.insert(DeviceSet(index))
    }
  }
}

/// A set of a board's devices, by their positions in its list. Only the first 32 devices can be represented.
public struct DeviceSet: OptionSet, Hashable, Sendable {
  public var rawValue: UInt32

  public init(rawValue: UInt32) { self.rawValue = rawValue }

  public init(_ index: Int) { self.init(rawValue: index < 32 ? 1 << UInt32(index) : 0) }

  // The devices of `DeviceNames.usual`.
  public static let gps = DeviceSet(0)
  public static let imu = DeviceSet(1)
  public static let mag = DeviceSet(2)
  public static let baro = DeviceSet(3)
  public static let meter = DeviceSet(4)
}
