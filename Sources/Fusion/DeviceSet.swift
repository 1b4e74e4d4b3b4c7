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
