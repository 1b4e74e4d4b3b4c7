import Hub

/// The connection options: the broker, the client's identity, and its credentials.
public struct MQTTOptions: Equatable, Sendable {
  /// A retained message that the broker publishes once the client is gone.
  public struct Will: Equatable, Sendable {
    public var topic: String
    public var text: String

    public init(topic: String, text: String) {
      self.topic = topic
      self.text = text
    }
  }

  public var broker: BrokerAddress
  /// The client's identifier. Two clients with one identifier end each other's connections.
  public var identifier: String
  public var username: String?
  /// The file with the password; by default, systemd's credential `mqtt-password`. This file and the others are read
  /// for each attempt to connect, so new contents take effect at the next attempt.
  public var passwordFile: String?
  /// The file with the certificate authorities that may vouch for the broker; `nil` for the system's.
  public var caFile: String?
  public var certificateFile: String?
  public var keyFile: String?
  public var will: Will?
  /// The topics that each connection subscribes to.
  public var subscriptions: [String]
  /// The time for which the broker keeps messages for the client while the client is not connected; zero for none.
  public var sessionExpiry: Duration = .zero
  /// The keep-alive interval: after this time without a message to the broker, the client pings it.
  public var keepAlive: Duration = .seconds(60)
  /// The longest message that the broker may send, at most 1 MB. Longer ones are dropped and counted.
  public var maximumPacketByteCount = 256 << 10
  /// The executable to start for each connection. It must call `BrokerClient.runIfAsked()` first.
  public var program = "/proc/self/exe"

  public init(broker: BrokerAddress, identifier: String, subscriptions: [String] = []) {
    self.broker = broker
    self.identifier = identifier
    self.subscriptions = subscriptions
  }
}
