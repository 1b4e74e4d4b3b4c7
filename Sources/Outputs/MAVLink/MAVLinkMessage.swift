/// The fields of a message in the order of transmission: the largest first, and the extensions last.
struct MAVLinkFields {
  private(set) var bytes: [UInt8] = []

  /// Adds a number with its lowest byte first.
  mutating func add(_ value: Int, bytes count: Int) {
    for index in 0..<count { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * index))) }
  }

  /// Adds a value as a number of steps. A number that does not fit into the bytes becomes the nearest number that fits.
  ///
  /// - Parameters:
  ///   - value: the value; `nil` if it is unknown
  ///   - unknown: the number for an unknown value
  mutating func add(_ value: Double?, per step: Double, bytes count: Int, isSigned: Bool = false, unknown: Int = 0) {
    guard let value, value.isFinite else { return add(unknown, bytes: count) }
    let bits = 8 * count
    let highest = isSigned ? 1 << (bits - 1) - 1 : 1 << bits - 2
    let lowest = isSigned ? -highest : 0
    add(Int(max(Double(lowest), min(Double(highest), (value / step).rounded()))), bytes: count)
  }

  /// Adds a float; NaN if the value is unknown.
  mutating func addFloat(_ value: Double?) {
    // The sum makes a negative zero positive, so that all its bits are zero.
    add(Int((Float(value ?? .nan) + 0).bitPattern), bytes: 4)
  }

  /// Adds the upper right triangle of a covariance matrix whose elements are zero outside the diagonal.
  ///
  /// - Parameter sigmas: the square roots of the diagonal. If one of them is `nil`, the first element of the matrix
  ///   becomes NaN, which marks the whole matrix as unknown
  mutating func addCovariance(_ sigmas: [Double?]) {
    let isKnown = sigmas.allSatisfy { $0 != nil }
    for row in 0..<6 {
      for column in row..<6 {
        let isUnknown = !isKnown && row == 0 && column == 0
        let sigma = isKnown && row == column ? sigmas[row] ?? 0 : 0
        addFloat(isUnknown ? nil : sigma * sigma)
      }
    }
  }
}

/// A message of MAVLink 2 (https://mavlink.io/en/guide/serialization.html, message_definitions/v1.0/common.xml).
struct MAVLinkMessage: Equatable {
  enum Kind: Int {
    case heartbeat = 0
    case gpsRaw = 24
    case visionPosition = 102
    case timeSync = 111
    case gpsInput = 232
    case odometry = 331

    /// The byte that the checksum also covers (CRC_EXTRA). It depends on the definition of the fields, so a program
    /// with another definition refuses the message.
    var checksumSeed: UInt8 {
      switch self {
      case .heartbeat: 50
      case .gpsRaw: 24
      case .visionPosition: 158
      case .timeSync: 34
      case .gpsInput: 151
      case .odometry: 91
      }
    }
  }

  static let magic: UInt8 = 0xFD
  /// The number of bytes before the payload.
  static let headerSize = 10

  var kind: Kind
  var payload: [UInt8]

  init(_ kind: Kind, _ fields: MAVLinkFields) {
    self.kind = kind
    payload = fields.bytes
  }

  /// The message as sent. Zeros at the end of the payload are left out.
  func frame(sequence: UInt8, system: UInt8, component: UInt8) -> [UInt8] {
    let count = max(1, (payload.lastIndex { $0 != 0 } ?? 0) + 1)
    let flags: [UInt8] = [0, 0]
    var frame = [MAVLinkMessage.magic, UInt8(count)] + flags + [sequence, system, component]
    for shift in [0, 8, 16] { frame.append(UInt8(truncatingIfNeeded: kind.rawValue >> shift)) }
    frame += payload[..<count]
    let sum = MAVLinkMessage.checksum(frame[1...], seed: kind.checksumSeed)
    return frame + [UInt8(truncatingIfNeeded: sum), UInt8(sum >> 8)]
  }

  /// The checksum CRC-16/MCRF4XX of the bytes, followed by the seed as the last byte.
  static func checksum(_ bytes: ArraySlice<UInt8>, seed: UInt8) -> UInt16 {
    var sum: UInt16 = 0xFFFF
    func add(_ byte: UInt8) {
      var step = byte ^ UInt8(truncatingIfNeeded: sum)
      step ^= step << 4
      let wide = UInt16(step)
      sum = sum >> 8 ^ wide << 8 ^ wide << 3 ^ wide >> 4
    }
    for byte in bytes { add(byte) }
    add(seed)
    return sum
  }
}

extension MAVLinkMessage {
  /// The HEARTBEAT of a companion computer.
  ///
  /// - Parameter isSimulated: whether values may be simulated; this sets the flag for hardware in the loop
  static func heartbeat(isSimulated: Bool) -> MAVLinkMessage {
    var fields = MAVLinkFields()
    fields.add(0, bytes: 4)
    // The fields are MAV_TYPE_ONBOARD_CONTROLLER, MAV_AUTOPILOT_INVALID, the mode, MAV_STATE_ACTIVE, and version 3 of
    // the protocol.
    for value in [18, noAutopilot, isSimulated ? 0x20 : 0, 4, 3] { fields.add(value, bytes: 1) }
    return MAVLinkMessage(.heartbeat, fields)
  }

  /// The kind of autopilot in the heartbeat of a component that is not an autopilot (MAV_AUTOPILOT_INVALID).
  static let noAutopilot = 8
  /// The kind of autopilot in the heartbeat of ArduPilot (MAV_AUTOPILOT_ARDUPILOTMEGA).
  static let arduPilot = 3

  /// - Parameters:
  ///   - answer: the time of the answering component in nanoseconds; 0 in a request
  ///   - request: the time in the request
  ///   - target: the system and component of the request
  static func timeSync(answer: Int64 = 0, request: Int64, to target: (UInt8, UInt8)) -> MAVLinkMessage {
    var fields = MAVLinkFields()
    fields.add(Int(answer), bytes: 8)
    fields.add(Int(request), bytes: 8)
    fields.add(Int(target.0), bytes: 1)
    fields.add(Int(target.1), bytes: 1)
    return MAVLinkMessage(.timeSync, fields)
  }
}
