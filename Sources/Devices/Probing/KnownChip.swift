/// A chip that can be told by an identification register, for `sensorhub probe`. From the makers' data sheets.
public struct KnownChip: Equatable, Sendable {
  public var name: String
  public var addresses: [UInt8]
  public var identity: ChipIdentity
  /// What a board file calls it, for the chips that the hub can read.
  public var driver: String?

  public static let all =
    InertialChip.all.map {
      KnownChip(name: $0.title, addresses: $0.addresses, identity: $0.identity, driver: $0.name)
    } + unread

  /// Those that the hub cannot read yet.
  private static let unread = [
    KnownChip("ICM-20948", at: [0x68, 0x69], 0x00, is: [0xEA]),
    KnownChip("ICM-42688-P", at: [0x68, 0x69], 0x75, is: [0x47]),
    KnownChip("LSM6DS3", at: [0x6A, 0x6B], 0x0F, is: [0x69, 0x6A]),
    KnownChip("LSM9DS1", at: [0x6A, 0x6B], 0x0F, is: [0x68]),
    KnownChip("BMI270", at: [0x68, 0x69], 0x00, is: [0x24]),
    KnownChip("BNO055", at: [0x28, 0x29], 0x00, is: [0xA0]),
    KnownChip("LIS3MDL", at: [0x1C, 0x1E], 0x0F, is: [0x3D]),
  ]

  private init(name: String, addresses: [UInt8], identity: ChipIdentity, driver: String?) {
    self.name = name
    self.addresses = addresses
    self.identity = identity
    self.driver = driver
  }

  private init(_ name: String, at addresses: [UInt8], _ register: UInt8, is values: [UInt8]) {
    self.init(
      name: name, addresses: addresses, identity: ChipIdentity(register: register, values: values), driver: nil)
  }
}
