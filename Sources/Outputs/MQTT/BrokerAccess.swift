import Hub

/// The data that a `BrokerProcess` needs to connect: the options, and the password from the file named in them or from
/// systemd's credential.
struct BrokerAccess: Equatable, Sendable {
  var host: String
  var port: UInt16
  var isEncrypted = false
  var identifier: String
  var username: String?
  var password: String?
  var caFile: String?
  var certificateFile: String?
  var keyFile: String?
  var will: MQTTOptions.Will?
  var subscriptions: [String] = []
  var sessionExpirySeconds: UInt32 = 0
  var keepAliveSeconds: UInt32 = 60
  var maximumPacketByteCount = 256 << 10

  init(host: String, port: UInt16, identifier: String) {
    self.host = host
    self.port = port
    self.identifier = identifier
  }

  /// Reads the password from its file or from systemd's credential.
  init(_ options: MQTTOptions) throws(FleetError) {
    self.init(host: options.broker.host, port: options.broker.port, identifier: options.identifier)
    password = try FleetError.password(of: options.username, in: options.passwordFile)
    isEncrypted = options.broker.isEncrypted
    username = options.username
    caFile = options.caFile
    certificateFile = options.certificateFile
    keyFile = options.keyFile
    will = options.will
    subscriptions = options.subscriptions
    sessionExpirySeconds = UInt32(clamping: options.sessionExpiry.components.seconds)
    keepAliveSeconds = UInt32(clamping: options.keepAlive.components.seconds)
    maximumPacketByteCount = min(options.maximumPacketByteCount, BrokerProcess.longestMessage)
  }
}

extension BrokerAccess {
  func write(to record: inout BrokerRecord) {
    record.add(host)
    record.add(UInt32(port))
    record.add(isEncrypted)
    record.add(identifier)
    for text in [username, password, caFile, certificateFile, keyFile, will?.topic, will?.text] {
      record.add(optional: text)
    }
    record.add(UInt32(subscriptions.count))
    for filter in subscriptions { record.add(filter) }
    record.add(sessionExpirySeconds)
    record.add(keepAliveSeconds)
    record.add(UInt32(clamping: maximumPacketByteCount))
  }

  init(from fields: inout BrokerFields) throws(MalformedBrokerRecord) {
    let host = try fields.text()
    guard let port = UInt16(exactly: try fields.number()) else { throw MalformedBrokerRecord() }
    let isEncrypted = try fields.flag()
    self.init(host: host, port: port, identifier: try fields.text())
    self.isEncrypted = isEncrypted
    username = try fields.optionalText()
    password = try fields.optionalText()
    caFile = try fields.optionalText()
    certificateFile = try fields.optionalText()
    keyFile = try fields.optionalText()
    switch (try fields.optionalText(), try fields.optionalText()) {
    case (let topic?, let text?): will = MQTTOptions.Will(topic: topic, text: text)
    case (nil, nil): break
    default: throw MalformedBrokerRecord()
    }
    var count = try fields.number()
    while count > 0 {
      subscriptions.append(try fields.text())
      count -= 1
    }
    sessionExpirySeconds = try fields.number()
    keepAliveSeconds = try fields.number()
    maximumPacketByteCount = Int(try fields.number())
  }
}
