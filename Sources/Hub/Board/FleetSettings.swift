/// A board file's settings for the broker that the hub joins.
public struct FleetSettings: Equatable, Sendable {
  public var broker: BrokerAddress
  /// The hub's name there; `nil` for a name derived from this machine's.
  public var hub: String?
  public var username: String?
  /// The file with the password.
  public var passwordFile: String?
  /// The file with the authorities that may vouch for the broker; `nil` for those that the system trusts.
  public var caFile: String?
  /// The files with the certificate and the key by which the broker knows the hub.
  public var certificateFile: String?
  public var keyFile: String?
  /// The first part of the topics of all hubs.
  public var topic: String
  /// Whether Home Assistant is told the hub's devices.
  public var homeAssistant: Bool
  /// Whether a subscription to the states keeps the devices awake without a separate request.
  public var subscribersWake = false
  /// `nil` if OwnTracks' programs get nothing.
  public var ownTracks: OwnTracksSettings?
  /// It comes from a board file, and not from a command line: the files that it may name are limited.
  public internal(set) var isOfBoardFile = false

  public init(broker: BrokerAddress, topic: String = "sensorhub", homeAssistant: Bool = false) {
    self.broker = broker
    self.topic = topic
    self.homeAssistant = homeAssistant
  }

  /// One level of a topic that stands for a hub or an observer: it contains no invisible characters and no wildcards.
  public static func isName(_ text: some StringProtocol) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.unicodeScalars.allSatisfy { scalar in
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "-", "_", ".", "@": true
        default: false
        }
      }
  }

  /// Some levels with slashes between.
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
      throw section.wrong("topic", expected: "names of letters, digits and any of -_.@, with slashes between")
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
