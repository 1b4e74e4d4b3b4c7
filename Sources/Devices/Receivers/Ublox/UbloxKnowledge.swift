import HardwareIO
import MonotonicTime
import NMEA
import UBX

/// Keeps a u-blox receiver's satellite data while its supply is off: in the receiver's flash (UPD-SOS) or on the host
/// (MGA-DBD). Receivers have these messages from protocol version 15 on.
extension UbloxReceiver {
  /// Whether the receiver has a flash. If so, its firmware is not in ROM, and its software version begins with `EXT`.
  private var hasFlash: Bool { version.software.hasPrefix("EXT") }
  private var isHelped: Bool { version.protocolVersion >= 1500 }

  // MARK: Before the supply goes off

  var stopsToKeepKnowledge: Bool { isHelped && hasFlash }

  func keepKnowledge(
    _ channel: CommandChannel, mayStop: Bool, hasBackup: Bool
  ) throws(HardwareError) -> KeptKnowledge {
    guard isHelped else { return .nothing }
    if mayStop, stopsToKeepKnowledge {
      // The data must not change while it is written.
      try channel.say(UBXMessage.reset(.stop).bytes)
      try channel.listen(for: .milliseconds(100))
      let answer = try channel.ask(
        UBXRequest(asking: .shutdownBackup(.create), prefix: UBXMessage.createdBackup), within: .milliseconds(1300),
        tries: 1)
      switch answer {
      case .answered(let payload) where payload.count > 4 && payload[4] == 1: return .inFlash
      case .unanswered, .stopped, .otherwise: return .unanswered
      // There may still be time to read the data from the receiver instead.
      case .answered, .accepted, .refused: break
      }
    } else if hasBackup {
      // At the next start, the receiver would take the old data in its flash for new data.
      try clearBackup(channel)
    }
    return try database(channel)
  }

  func clearBackup(_ channel: CommandChannel) throws(HardwareError) {
    try channel.say(UBXMessage.shutdownBackup(.clear).bytes)
  }

  /// The maximum number of stored bytes.
  private static let mostDatabaseBytes = 32768

  private func database(_ channel: CommandChannel) throws(HardwareError) -> KeptKnowledge {
    // With this setting, the receiver marks its last message.
    _ = try haveAidingAcknowledged(channel)
    var messages: [[UInt8]] = []
    var byteCount = 0
    var end: KeptKnowledge?
    let take: (ReceiverFramer.Frame) -> Bool = { frame in
      guard case .message(let message) = frame, message.format == .ubx else { return end != nil }
      if message.kind == UBXCommandKind.mgaDBD, message.payload.count > 0 {
        byteCount += message.payload.count
        if byteCount <= UbloxReceiver.mostDatabaseBytes { messages.append(message.payloadCopy) }
      } else if let acknowledgement = UBXAidingAcknowledgement(message), acknowledgement.kind == UBXCommandKind.mgaDBD {
        end = .nothing
      } else if let acknowledgement = UBXAcknowledgement(message), acknowledgement.kind == UBXCommandKind.mgaDBD {
        if !acknowledgement.isAccepted { end = .refused }
      }
      return end != nil
    }
    try channel.say(UBXMessage.databaseRequest.bytes, within: .milliseconds(800), take)
    // If the last message is missing, silence or the time limit ends the wait. The messages that have arrived are kept,
    // because each is useful by itself.
    var before = 0
    while end == nil, messages.count > before {
      before = messages.count
      try channel.say([], within: .milliseconds(500), take)
    }
    if end == .refused { return .refused }
    if !messages.isEmpty { return .database(messages) }
    return end == nil ? .unanswered : .refused
  }

  private func haveAidingAcknowledged(_ channel: CommandChannel) throws(HardwareError) -> Bool {
    let setting: UBXMessage =
      version.protocolVersion >= 2700
      ? .set([UBXSetting(.acknowledgesAiding, true)], in: .ram)
      : .acknowledgesAiding(version: version.protocolVersion >= 1800 ? 2 : 0)
    return try channel.ask(UBXRequest(setting: setting), within: .milliseconds(400), tries: 1) == .accepted
  }

  // MARK: After the supply has come on

  /// The time limit for sending all data. The receiver is read in the meantime.
  private static let givingTime = Duration.seconds(5)
  /// The maximum number of messages that the receiver has not acknowledged yet, because its input buffer holds about a
  /// kilobyte.
  private static let mostOpen = 4

  func giveBack(_ knowledge: GivenKnowledge, _ channel: CommandChannel) throws(HardwareError) -> ReceiverAnswer {
    guard isHelped else { return .accepted }
    let deadline = channel.now + UbloxReceiver.givingTime
    // Send the time first, because the receiver evaluates the other data by the time.
    if let time = knowledge.time { try channel.say(UbloxReceiver.message(time, channel).bytes) }
    if let place = knowledge.place {
      try channel.say(
        UBXMessage.place(
          latitudeDegrees: place.latitudeDegrees, longitudeDegrees: place.longitudeDegrees,
          altitudeMetres: place.altitudeHAEMetres ?? 0,
          // If the altitude is unknown, the height is wrong by a few kilometres at worst.
          accuracyMetres: max(place.sigmaMetres, place.altitudeHAEMetres == nil ? 3000 : 0)
        ).bytes)
    }
    if knowledge.isInFlash { return try restoration(channel) }
    guard !knowledge.database.isEmpty else { return .accepted }
    return try giveBack(knowledge.database, channel, until: deadline)
  }

  private static func message(_ time: KnownTime, _ channel: CommandChannel) -> UBXMessage {
    // State the time at which the line will have carried the message.
    let parts = time.utc(at: channel.now + channel.speed.time(for: 32)).components
    return .time(
      year: UInt16(clamping: parts.date.year), month: UInt8(clamping: parts.date.month),
      day: UInt8(clamping: parts.date.day), hour: UInt8(clamping: parts.hour), minute: UInt8(clamping: parts.minute),
      second: UInt8(clamping: parts.second), nanosecond: UInt32(clamping: parts.nanosecond),
      accuracyNanoseconds: time.sigma.inNanoseconds)
  }

  /// Asks whether the receiver has started with the data in its flash; if so, the result is `accepted`.
  private func restoration(_ channel: CommandChannel) throws(HardwareError) -> ReceiverAnswer {
    let answer = try channel.ask(
      UBXRequest(asking: UBXMessage.shutdownBackupRequest, prefix: UBXMessage.restoredBackup), tries: 1)
    guard case .answered(let payload) = answer, payload.count > 4 else { return answer }
    return payload[4] == 2 ? .accepted : .refused
  }

  private func giveBack(
    _ database: [[UInt8]], _ channel: CommandChannel, until deadline: MonotonicInstant
  ) throws(HardwareError) -> ReceiverAnswer {
    let isAcknowledged = try haveAidingAcknowledged(channel)
    var (used, unused, said) = (0, 0, 0)
    let take: (ReceiverFramer.Frame) -> Bool = { frame in
      guard case .message(let message) = frame, let acknowledgement = UBXAidingAcknowledgement(message),
        acknowledgement.kind == UBXCommandKind.mgaDBD
      else { return false }
      if acknowledgement.isUsed { used += 1 } else { unused += 1 }
      return true
    }
    var lost = 0
    for payload in database {
      guard !channel.isStopped, channel.now < deadline else { break }
      let bytes = UBXMessage.database(payload).bytes
      // Send the messages no faster than the line carries them and the receiver accepts them.
      try channel.say(bytes, for: channel.speed.time(for: bytes.count) + .milliseconds(3), { _ = take($0) })
      said += 1
      while isAcknowledged, said - used - unused - lost >= UbloxReceiver.mostOpen, !channel.isStopped {
        let before = used + unused
        try channel.say([], within: .milliseconds(300), take)
        if used + unused == before { lost += 1 }
        if channel.now >= deadline { break }
      }
    }
    if channel.isStopped { return .stopped }
    while isAcknowledged, used + unused + lost < said, channel.now < deadline {
      let before = used + unused
      try channel.say([], within: .milliseconds(300), take)
      if used + unused == before { break }
    }
    return used == 0 && unused > 0 ? .refused : .accepted
  }
}
