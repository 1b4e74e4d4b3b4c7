import HardwareIO

/// The connection to an autopilot over MAVLink, and the messages that the hub sends to it.
public struct MAVLinkPort: Equatable, Sendable {
  public enum Line: Equatable, Sendable {
    case datagrams(IPAddress, port: UInt16)
    case serial(String, BaudRate)
  }

  /// The messages that carry measurements, by their names in MAVLink's definitions.
  public enum Message: String, CaseIterable, Sendable {
    case gpsInput = "GPS_INPUT"
    case gpsRaw = "GPS_RAW_INT"
    case odometry = "ODOMETRY"
    case visionPosition = "VISION_POSITION_ESTIMATE"
  }

  public var line: Line
  public var messages: [Message]
  /// The MAVLink system ID of the vehicle, 1 to 255, and the component ID of the hub in that system.
  public var system: UInt8
  public var component: UInt8
  /// The highest rate of ODOMETRY and VISION_POSITION_ESTIMATE, hertz.
  public var rateHz: Double
  /// Whether the autopilot may get values of simulated devices, because it is simulated too.
  public var takesSimulated: Bool
  /// Whether the output is a subscription, which keeps the devices awake. Otherwise it sends only while other clients
  /// keep the devices awake.
  public var keepsAwake: Bool
  /// The parts of the state whose devices the output keeps awake.
  public var parts: Set<StatePart>

  /// The path of the serial port; `nil` for datagrams.
  public var serialPort: String? { if case .serial(let path, _) = line { path } else { nil } }
  /// The destination of datagrams.
  public var address: IPAddress? { if case .datagrams(let address, _) = line { address } else { nil } }
}

extension MAVLinkPort.Line: CustomStringConvertible {
  public var description: String {
    switch self {
    case .datagrams(let address, let port): "udp://\(TCPAddress(address: address, port: port))"
    case .serial(let path, let speed): "\(path) at \(speed.rawValue) baud"
    }
  }
}

extension MAVLinkPort {
  private static let scheme = "udp://"

  /// - Parameter devices: the board's devices, whose ports are taken
  init(_ section: BoardSection, among devices: [DeviceDescription]) throws(BoardError) {
    var section = section
    let isSerial = section.has("port")
    guard isSerial != section.has("to") else {
      throw section.wrong("to", expected: "\"udp://127.0.0.1:14550\", for example, or a 'port' instead")
    }
    if let text = try section.string("to") {
      let place = text.hasPrefix(MAVLinkPort.scheme) ? HostPort(text.dropFirst(MAVLinkPort.scheme.count)) : nil
      let address = place.flatMap { IPAddress($0.host) }
      guard let address, let port = place?.port else {
        throw section.wrong("to", expected: "an address and a port, such as \"udp://127.0.0.1:14550\"")
      }
      line = .datagrams(address, port: port)
    } else {
      let path = try section.required("port")
      guard path.hasPrefix("/dev/") else { throw section.wrong("port", expected: "a tty such as \"/dev/serial0\"") }
      if let device = devices.first(where: { $0.path == path }) {
        throw section.wrong("port", expected: "another port than that of '\(device.id)'")
      }
      line = .serial(path, try section.baudRate("speed") ?? .b57600)
    }
    if !isSerial, section.has("speed") { throw section.wrong("speed", expected: "left out without 'port'") }
    messages = try section.choices("messages", of: Message.self) ?? [.gpsInput]
    if messages.contains(.odometry), messages.contains(.visionPosition) {
      throw section.wrong(
        "messages", expected: "without ODOMETRY or without VISION_POSITION_ESTIMATE, which carry the same values")
    }
    system = UInt8(try section.integer("system", in: 1...255) ?? 1)
    component = UInt8(try section.integer("component", in: 1...255) ?? 191)
    rateHz = try section.number("rateHz", in: 1...50) ?? 10
    takesSimulated = try section.boolean("simulated") ?? false
    keepsAwake = try section.boolean("keepsAwake") ?? false
    let wanted = try section.parts("parts")
    if wanted != nil, !keepsAwake {
      throw section.wrong("parts", expected: "left out without 'keepsAwake': MAVLink wakes no device then")
    }
    parts = wanted ?? .all
    try section.finish()
  }
}
