/// What a board file says of the broker that the hub joins.
public struct FleetSettings: Equatable, Sendable {
  public var broker: BrokerAddress
  /// What the hub is called there; `nil` for a name that is made of this machine's.
  public var hub: String?
  public var username: String?
  /// The file with the password.
  public var passwordFile: String?
  /// The file with the authorities that may vouch for the broker; `nil` for those that the system trusts.
  public var caFile: String?
  /// The files with the certificate and the key by which the broker knows the hub.
  public var certificateFile: String?
  public var keyFile: String?
  /// What the topics of all hubs begin with.
  public var topic: String
  /// Whether Home Assistant is told what the hub has.
  public var homeAssistant: Bool
  /// Whether who has subscribed to the states has the devices awake without having asked for that.
  public var subscribersWake = false
  /// `nil` if OwnTracks' programs get nothing.
  public var ownTracks: OwnTracksSettings?
  /// A board file says so, and nobody at a command line: what files it names may be read is limited.
  public internal(set) var isOfBoardFile = false

  public init(broker: BrokerAddress, topic: String = "sensorhub", homeAssistant: Bool = false) {
    self.broker = broker
    self.topic = topic
    self.homeAssistant = homeAssistant
  }

  /// One level of a topic that stands for a hub or for who looks at it: nothing in it hides, and nothing is a wildcard.
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
