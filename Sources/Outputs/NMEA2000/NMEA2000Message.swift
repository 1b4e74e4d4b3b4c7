import HardwareIO

/// A message of NMEA 2000: a parameter group with its number (PGN).
///
/// NMEA sells its standard. The numbers, fields, units and usual intervals here are facts from canboat's public
/// database.
struct NMEA2000Message: Equatable, Sendable {
  /// The numbers of the groups that the hub sends or understands.
  enum Group: UInt32, CaseIterable, Sendable {
    case acknowledgement = 59392
    case request = 59904
    case addressClaim = 60928
    case groupList = 126464
    case systemTime = 126992
    case heartbeat = 126993
    case productInformation = 126996
    case heading = 127250
    case rateOfTurn = 127251
    case attitude = 127257
    case position = 129025
    case courseAndSpeed = 129026
    case gnssPosition = 129029
    case environment = 130311
    case pressure = 130314
  }

  /// The address of all devices.
  static let everyone: UInt8 = 255
  /// The address of a device that has none.
  static let noAddress: UInt8 = 254
  /// The highest address of a device.
  static let lastAddress: UInt8 = 251

  var group: Group
  var bytes: [UInt8]
  /// The destination address. Messages of most groups always go to all devices.
  var destination = NMEA2000Message.everyone

  init(_ group: Group, _ fields: NMEA2000Fields, to destination: UInt8 = NMEA2000Message.everyone) {
    self.group = group
    bytes = fields.bytes
    self.destination = destination
  }

  /// The priority, 0 (highest) to 7.
  private var priority: UInt32 {
    switch group {
    case .heading, .rateOfTurn, .position, .courseAndSpeed: 2
    case .systemTime, .attitude, .gnssPosition: 3
    case .environment, .pressure: 5
    case .heartbeat: 7
    default: 6
    }
  }

  /// Whether the message is a fast packet. The group decides this, not the length: a list of groups that is short
  /// enough for one frame also needs the header of a fast packet.
  var isFastPacket: Bool {
    switch group {
    case .groupList, .productInformation, .gnssPosition: true
    default: false
    }
  }

  /// The frames of the message. The first frame of a fast packet has the length and six bytes, and each further one has
  /// seven bytes.
  ///
  /// - Parameter sequence: the number of the fast packet, of which three bits are used
  func frames(from source: UInt8, sequence: UInt8) -> [CANFrame] {
    var identifier = priority << 26 | group.rawValue << 8 | UInt32(source)
    // In the groups below 61440 (PF below 240), the second byte of the number is the destination address.
    if group.rawValue & 0xFF00 < 0xF000 { identifier |= UInt32(destination) << 8 }
    guard isFastPacket else { return [CANFrame(identifier: identifier, bytes: bytes)] }
    var frames: [CANFrame] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      var frame = [sequence << 5 | UInt8(frames.count)]
      if frames.isEmpty { frame.append(UInt8(bytes.count)) }
      let part = rest.prefix(8 - frame.count)
      frame += part
      rest = rest.dropFirst(part.count)
      frame += [UInt8](repeating: 0xFF, count: 8 - frame.count)
      frames.append(CANFrame(identifier: identifier, bytes: frame))
    }
    return frames
  }
}

/// The content of a message, with the lowest byte of each number first.
///
/// The highest value of a field means that the value is not available, and the one below means that it is out of range.
struct NMEA2000Fields {
  private(set) var bytes: [UInt8] = []

  /// Adds a whole number, or several fields that share bytes. The bits of a reserved field are set.
  mutating func add(_ value: UInt64, bytes count: Int) {
    for index in 0..<count { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * index))) }
  }

  /// Adds a number.
  ///
  /// - Parameters:
  ///   - value: `nil` if it is not available
  ///   - unit: the value of one step
  ///   - count: the size in bytes, at most 4 without a sign
  mutating func add(_ value: Double?, per unit: Double, bytes count: Int, isSigned: Bool = false) {
    let highest = Int64.max >> Int64(64 - 8 * count - (isSigned ? 0 : 1))
    var steps = highest
    if let value, value.isFinite {
      let exact = (value / unit).rounded()
      // The third highest value is reserved too.
      let isInRange = exact < Double(highest - 2) && exact >= (isSigned ? Double(-highest) : 0)
      steps = isInRange ? Int64(exact) : highest - 1
    }
    add(UInt64(bitPattern: steps), bytes: count)
  }

  /// Adds a text of printable ASCII, cut or filled to 32 bytes.
  mutating func add(_ text: String) {
    let ascii = text.utf8.map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }.prefix(32)
    bytes += ascii
    bytes += [UInt8](repeating: 0xFF, count: 32 - ascii.count)
  }
}
