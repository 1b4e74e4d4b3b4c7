import HardwareIO
import MonotonicTime

/// A device on a bus of NMEA 2000. It claims an address, defends it, answers requests, and sends a heartbeat.
///
/// The rules are those of ISO 11783-5. A device claims an address by a message, and has it if no other device claims it
/// within 250 ms. If two devices claim one address, the one with the lower name keeps it. The other one claims another
/// address, or reports that it can claim none. Devices that leave the bus do not say so. Therefore a device without an
/// address may ask all devices for their claims later.
///
/// This type decides. `NMEA2000Link` sends and receives.
struct NMEA2000Node {
  private enum Phase: Equatable {
    case claiming(until: MonotonicInstant)
    case claimed(nextHeartbeat: MonotonicInstant)
    /// All addresses are taken. The report is delayed by a random time, so that two devices do not send it at once.
    case defeated(report: MonotonicInstant?, mayAsk: MonotonicInstant)
    /// The other devices have been asked for their addresses.
    case asking(until: MonotonicInstant)
  }

  static let claimTime = Duration.milliseconds(250)
  static let heartbeatInterval = Duration.seconds(60)
  /// How long devices may take to answer a request (SAE J1939-21, T3).
  static let answerTime = Duration.milliseconds(1250)
  /// The interval at which a device without an address may look for one.
  static let searchInterval = Duration.seconds(60)

  /// The kernel's filter for the frames that a node must receive. The mask selects the bits of the group's number.
  static let identifiers = [
    NMEA2000Message.Group.addressClaim.rawValue << 8, NMEA2000Message.Group.request.rawValue << 8,
  ]
  static let identifierMask: UInt32 = 0x03FF_0000

  let name: NMEA2000Name
  let product: NMEA2000Message
  private(set) var address: UInt8
  private let preferred: UInt8
  private var phase: Phase
  private var heartbeats: UInt8 = 0
  private static let noneTaken = [Bool](repeating: false, count: Int(NMEA2000Message.lastAddress) + 1)
  /// For each address, whether another device has claimed it.
  private var isTaken = NMEA2000Node.noneTaken

  /// - Parameters:
  ///   - address: the address to claim first
  ///   - product: the answer to a request for the product information
  init(_ name: NMEA2000Name, claiming address: UInt8, product: NMEA2000Message, at now: MonotonicInstant) {
    self.name = name
    self.product = product
    preferred = min(address, NMEA2000Message.lastAddress)
    self.address = preferred
    phase = .claiming(until: now + NMEA2000Node.claimTime)
  }

  /// Whether the node has an address, so that it may send values.
  var isClaimed: Bool { if case .claimed = phase { true } else { false } }
  /// Whether all addresses are taken.
  var isDefeated: Bool { if case .defeated = phase { true } else { false } }

  /// When `elapse` must be called; `nil` for never.
  var deadline: MonotonicInstant? {
    switch phase {
    case .claiming(let until): until
    case .claimed(let next): next
    case .defeated(let report, _): report
    case .asking(let until): until
    }
  }

  /// The message that claims the present address, or reports that there is none. It is the first message of a node.
  var claim: NMEA2000Message {
    var fields = NMEA2000Fields()
    fields.add(name.value, bytes: 8)
    return NMEA2000Message(.addressClaim, fields)
  }

  /// The messages that are due now.
  mutating func elapse(to now: MonotonicInstant) -> [NMEA2000Message] {
    guard let deadline, now >= deadline else { return [] }
    switch phase {
    case .claiming, .claimed:
      // The first heartbeat is sent as soon as the node has its address.
      phase = .claimed(nextHeartbeat: now + NMEA2000Node.heartbeatInterval)
      return [heartbeat()]
    case .defeated(_, let mayAsk):
      phase = .defeated(report: nil, mayAsk: mayAsk)
      return [claim]
    case .asking:
      guard let free = freeAddress(from: preferred) else {
        phase = .defeated(report: nil, mayAsk: now + NMEA2000Node.searchInterval)
        return []
      }
      return [claim(free, at: now)]
    }
  }

  /// Asks all devices for their addresses, because one may be free now. Call this only if there are values to send, so
  /// that an idle hub does not wake up.
  ///
  /// - Returns: the request; `nil` if the node has an address, or has asked within a minute
  mutating func askForAddresses(at now: MonotonicInstant) -> NMEA2000Message? {
    guard case .defeated(nil, let mayAsk) = phase, now >= mayAsk else { return nil }
    isTaken = NMEA2000Node.noneTaken
    phase = .asking(until: now + NMEA2000Node.answerTime)
    var fields = NMEA2000Fields()
    fields.add(UInt64(NMEA2000Message.Group.addressClaim.rawValue), bytes: 3)
    return NMEA2000Message(.request, fields)
  }

  private mutating func claim(_ free: UInt8, at now: MonotonicInstant) -> NMEA2000Message {
    address = free
    phase = .claiming(until: now + NMEA2000Node.claimTime)
    return claim
  }

  /// Takes a frame from another device.
  ///
  /// - Returns: the answers. If the call has changed the address, the caller must drop the messages that wait to be
  ///   sent.
  mutating func receive(_ frame: CANFrame, at now: MonotonicInstant) -> [NMEA2000Message] {
    let source = UInt8(truncatingIfNeeded: frame.identifier)
    let destination = UInt8(truncatingIfNeeded: frame.identifier >> 8)
    let number = frame.identifier >> 8 & 0x3_FF00
    let value = frame.bytes.reversed().reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    switch NMEA2000Message.Group(rawValue: number) {
    case .addressClaim where frame.bytes.count == 8:
      return receiveClaim(of: source, NMEA2000Name(value: value), at: now)
    case .request where frame.bytes.count >= 3 && (destination == address || destination == NMEA2000Message.everyone):
      return answer(to: source, UInt32(value & 0xFF_FFFF), isForAll: destination != address)
    default: return []
    }
  }

  private mutating func receiveClaim(
    of source: UInt8, _ other: NMEA2000Name, at now: MonotonicInstant
  ) -> [NMEA2000Message] {
    guard source <= NMEA2000Message.lastAddress else { return [] }
    guard source == address else {
      isTaken[Int(source)] = true
      return []
    }
    if name.value < other.value { return [claim] }
    isTaken[Int(source)] = true
    guard let free = freeAddress(from: address) else {
      address = NMEA2000Message.noAddress
      phase = .defeated(
        report: now + .microseconds(600 * Int.random(in: 0...255)), mayAsk: now + NMEA2000Node.searchInterval)
      return []
    }
    return [claim(free, at: now)]
  }

  /// The first address, counted upwards from `first` and then from 0, that no other device has claimed.
  private func freeAddress(from first: UInt8) -> UInt8? {
    for step in 0..<isTaken.count {
      let candidate = (Int(first) + step) % isTaken.count
      if !isTaken[candidate] { return UInt8(candidate) }
    }
    return nil
  }

  private mutating func answer(to source: UInt8, _ number: UInt32, isForAll: Bool) -> [NMEA2000Message] {
    let group = NMEA2000Message.Group(rawValue: number)
    // Even a device without an address answers this request.
    if group == .addressClaim { return [claim] }
    guard isClaimed else { return [] }
    switch group {
    case .productInformation: return [product]
    case .groupList: return NMEA2000Node.groupLists(to: source)
    case .heartbeat: return [heartbeat()]
    default:
      // A request to all devices gets no refusal.
      if isForAll || source > NMEA2000Message.lastAddress { return [] }
      var fields = NMEA2000Fields()
      // The request is refused.
      fields.add(0xFF_FFFF_FF01, bytes: 5)
      fields.add(UInt64(number), bytes: 3)
      return [NMEA2000Message(.acknowledgement, fields, to: source)]
    }
  }

  private mutating func heartbeat() -> NMEA2000Message {
    defer { heartbeats = heartbeats == 252 ? 0 : heartbeats + 1 }
    var fields = NMEA2000Fields()
    fields.add(NMEA2000Node.heartbeatInterval.inSeconds, per: 0.001, bytes: 2)
    fields.add(UInt64(heartbeats), bytes: 1)
    fields.add(.max, bytes: 5)
    return NMEA2000Message(.heartbeat, fields)
  }

  /// The two messages that list the groups that the hub sends and receives.
  private static func groupLists(to destination: UInt8) -> [NMEA2000Message] {
    let received: [NMEA2000Message.Group] = [.request, .addressClaim]
    return [(0, NMEA2000Message.Group.allCases), (1, received)].map {
      (function: UInt64, groups: [NMEA2000Message.Group]) in
      var fields = NMEA2000Fields()
      fields.add(function, bytes: 1)
      for group in groups { fields.add(UInt64(group.rawValue), bytes: 3) }
      return NMEA2000Message(.groupList, fields, to: destination)
    }
  }

  /// The product information of a hub.
  ///
  /// - Parameter version: the version of the program
  static func product(version: String, _ name: NMEA2000Name) -> NMEA2000Message {
    var fields = NMEA2000Fields()
    // The version of the standard, 2.1, and no product code.
    fields.add(2.1, per: 0.001, bytes: 2)
    fields.add(.max, bytes: 2)
    for text in ["SensorHub", version, "", "\(name.unique)"] { fields.add(text) }
    // The hub is not certified, and its power need is unknown.
    fields.add(.max, bytes: 2)
    return NMEA2000Message(.productInformation, fields)
  }
}
