import MonotonicTime
import NMEA

/// The result of restoring the backup in flash at the last start, as in UPD-SOS.
enum UBXRestoration: UInt8, Sendable {
  case restored = 2
  case noBackup = 3
}

/// Restores ephemerides, position and time that the receiver's flash or its host has kept.
extension UBXProtocol {
  // MARK: Save on shutdown

  mutating func saveOnShutdown(_ payload: [UInt8], _ body: inout ReceiverBody) {
    guard let command = payload.first else {
      return send(BinaryMessage([3, 0, 0, 0, restoration.rawValue, 0, 0, 0]), 0x09, 0x14, &body)
    }
    guard payload.count == 4 else { return }
    if command == 1 { savedNavigation = nil }
    guard command == 0 else { return }
    savedNavigation = body.navigation
    send(BinaryMessage([2, 0, 0, 0, 1, 0, 0, 0]), 0x09, 0x14, &body)
  }

  /// Restores the saved data at a start. The saved data does not include the time.
  mutating func restore(_ body: inout ReceiverBody) {
    guard var saved = savedNavigation else { return restoration = .noBackup }
    // If backup RAM still has data, its data is newer, so nothing is restored.
    guard !body.navigation.hasPosition else { return restoration = .noBackup }
    saved.hasTime = false
    saved.isAided = true
    body.navigation = saved
    restoration = .restored
  }

  // MARK: Multiple GNSS assistance

  /// Handles a message of class 0x13 (MGA).
  mutating func assist(_ id: UInt8, _ payload: [UInt8], _ body: inout ReceiverBody) {
    switch (id, payload.first) {
    case (0x80, nil): sendDatabase(&body)
    case (0x80, _): acknowledge(id, payload, isUsed: takeDatabase(payload, &body), &body)
    case (0x40, 0x00), (0x40, 0x01):
      guard payload.count == 20 else { return acknowledge(id, payload, isUsed: false, &body) }
      if !body.navigation.hasPosition { body.navigation.isAided = true }
      body.navigation.hasPosition = true
      acknowledge(id, payload, isUsed: true, &body)
      body.wasHelped()
    case (0x40, 0x10), (0x40, 0x11):
      guard payload.count == 24 else { return acknowledge(id, payload, isUsed: false, &body) }
      if !body.navigation.hasTime { body.navigation.isAided = true }
      body.navigation.hasTime = true
      acknowledge(id, payload, isUsed: true, &body)
      body.wasHelped()
    default: acknowledge(id, payload, isUsed: false, &body)
    }
  }

  /// Sends MGA-ACK if the host has enabled it.
  private func acknowledge(_ id: UInt8, _ payload: [UInt8], isUsed: Bool, _ body: inout ReceiverBody) {
    guard settings.isOn(UBXKey.acknowledgesAiding) else { return }
    var message = BinaryMessage([isUsed ? 1 : 0, 0, isUsed ? 0 : 4, id])
    let start = payload.prefix(4)
    for byte in start { message.u1(byte) }
    message.zeros(4 - start.count)
    send(message, 0x13, 0x60, &body)
  }

  private static let databaseMark: UInt32 = 0x5344_4231

  /// Sends MGA-DBD. The contents of a real message are private to the maker. Here the contents are a marker, the
  /// satellite, and the Unix time at which its ephemeris arrived.
  private func sendDatabase(_ body: inout ReceiverBody) {
    let navigation = body.navigation
    let count: Int
    if let received = navigation.ephemeridesAt {
      let age = (body.now - received).inNanoseconds
      let seconds = (body.utc.nanosecondsSince1970 - age) / 1_000_000_000
      for satellite in body.satellites {
        var message = BinaryMessage()
        message.zeros(12)
        message.u4(UBXProtocol.databaseMark)
        message.u1(satellite.system.rawValue, satellite.number, 0, 0)
        message.u4(UInt32(clamping: seconds))
        message.zeros(64)
        send(message, 0x13, 0x80, &body)
      }
      count = body.satellites.count
    } else {
      count = 0
    }
    // The list ends with the number of messages.
    var number = BinaryMessage()
    number.u4(UInt32(count))
    acknowledge(0x80, number.payload, isUsed: true, &body)
  }

  private func takeDatabase(_ payload: [UInt8], _ body: inout ReceiverBody) -> Bool {
    guard payload.count == 88, BinaryMessage.u4(payload, 12) == UBXProtocol.databaseMark else { return false }
    let seconds = Int64(BinaryMessage.u4(payload, 20))
    let age = Duration.nanoseconds(body.utc.nanosecondsSince1970 - seconds * 1_000_000_000)
    guard age < NavigationMemory.ephemerisLife else { return false }
    body.navigation.ephemeridesAt = body.now + (.zero - age)
    body.navigation.hasAlmanac = true
    body.wasHelped()
    return true
  }
}
