/// Some of a board's devices, by their places in its list; of a longer list only the first 32 can be told.
public struct DeviceSet: OptionSet, Hashable, Sendable {
  public var rawValue: UInt32

  public init(rawValue: UInt32) { self.rawValue = rawValue }

  public init(_ index: Int) { self.init(rawValue: index < 32 ? 1 << UInt32(index) : 0) }

  // Those that `DeviceNames.usual` names.
  public static let gps = DeviceSet(0)
  public static let imu = DeviceSet(1)
  public static let mag = DeviceSet(2)
  public static let baro = DeviceSet(3)
  public static let meter = DeviceSet(4)
}
