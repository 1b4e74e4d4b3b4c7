import HardwareIO

/// A board file's settings for the broker that the hub connects to.
public struct FleetSettings: Equatable, Sendable {
  public var broker: BrokerAddress
  /// The hub's name at the broker; `nil` to derive one from this machine's ID.
  public var hub: String?
  public var username: String?
  /// The file with the password.
  public var passwordFile: String?
  /// The file with the certificate authorities for the broker; `nil` for the system's.
  public var caFile: String?
  /// The files with the hub's own certificate and key.
  public var certificateFile: String?
  public var keyFile: String?
  /// The prefix of the topics of every hub at the broker.
  public var topic: String
  /// Whether the hub announces its devices to Home Assistant.
  public var homeAssistant: Bool
  /// Whether a client's subscription to the states keeps the devices awake without a separate request.
  public var subscribersWake = false
  /// The settings of the positions in OwnTracks' format; `nil` to send none.
  public var ownTracks: OwnTracksSettings?
  /// Whether the settings come from a board file and not from a command line. A board file may name password files only
  /// in certain folders, but a command line may name any.
  public internal(set) var isOfBoardFile = false

  public init(broker: BrokerAddress, topic: String = "sensorhub", homeAssistant: Bool = false) {
    self.broker = broker
    self.topic = topic
    self.homeAssistant = homeAssistant
  }

  /// Whether a text may name a hub or an observer in one level of a topic: 1 to 64 letters, digits and any of `-_.@`,
  /// so that it contains no wildcard.
  public static func isName(_ text: some StringProtocol) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.unicodeScalars.allSatisfy { scalar in
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "-", "_", ".", "@": true
        default: false
        }
      }
  }

  /// Whether a text consists of names that `isName` accepts, with slashes between them, at most 128 bytes in all.
  public static func isTopic(_ text: some StringProtocol) -> Bool {
    text.utf8.count <= 128 && text.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { isName($0) }
  }
}

extension FleetSettings {
  init(_ section: BoardSection) throws(BoardError) {
    var section = section
    guard let broker = BrokerAddress(try section.required("broker")) else {
      throw section.wrong(
        "broker", expected: "an address, such as \"mqtts://broker.example:8883\" or \"mqtt://192.168.1.5\"")
    }
    self.init(broker: broker)
    isOfBoardFile = true
    hub = try section.string("hub")
    if let hub, !FleetSettings.isName(hub) {
      throw section.wrong("hub", expected: "at most 64 letters, digits and any of -_.@")
    }
    topic = try section.string("topic") ?? topic
    guard FleetSettings.isTopic(topic) else {
      throw section.wrong("topic", expected: "names of letters, digits and any of -_.@, separated by slashes")
    }
    username = try section.name("username")
    passwordFile = try section.name("passwordFile")
    if passwordFile != nil, username == nil { throw section.missing("username") }
    caFile = try section.name("caFile")
    certificateFile = try section.name("certificateFile")
    keyFile = try section.name("keyFile")
    if certificateFile != nil, keyFile == nil { throw section.missing("keyFile") }
    if keyFile != nil, certificateFile == nil { throw section.missing("certificateFile") }
    if !broker.isEncrypted, let key = ["caFile", "certificateFile", "keyFile"].first(where: section.has) {
      throw section.wrong(key, expected: "left out, or 'broker' mqtts://…: only TLS has certificates")
    }
    homeAssistant = try section.boolean("homeAssistant") ?? homeAssistant
    subscribersWake = try section.boolean("subscribersWake") ?? subscribersWake
    ownTracks = try section.section("ownTracks").map { (section) throws(BoardError) in try OwnTracksSettings(section) }
    try section.finish()
  }
}

/// The address of an MQTT broker: `mqtts://broker.example:8883`.
public struct BrokerAddress: Equatable, Sendable {
  /// A host name, or an address without brackets.
  public var host: String
  public var port: UInt16
  /// Whether TLS is used, with a check of the broker's certificate.
  public var isEncrypted: Bool

  public init(host: String, port: UInt16? = nil, isEncrypted: Bool) {
    self.host = host
    self.port = port ?? (isEncrypted ? 8883 : 1883)
    self.isEncrypted = isEncrypted
  }

  /// - Parameter text: `mqtt://` or `mqtts://`, a host, and a port if it is not 1883 (8883 with TLS)
  public init?(_ text: String) {
    let isEncrypted = text.hasPrefix("mqtts://")
    guard isEncrypted || text.hasPrefix("mqtt://"), let scheme = text.firstRange(of: "://") else { return nil }
    guard let place = HostPort(text[scheme.upperBound...]) else { return nil }
    self.init(host: place.host, port: place.port, isEncrypted: isEncrypted)
  }

  /// The host's IP address; `nil` if the host is a name.
  public var address: IPAddress? { IPAddress(host) }

  /// Whether the broker is on this machine.
  public var isLoopback: Bool { host == "localhost" || address?.isLoopback == true }
}

extension BrokerAddress: CustomStringConvertible {
  public var description: String {
    "\(isEncrypted ? "mqtts" : "mqtt")://\(HostPort.text(host, port))"
  }
}
