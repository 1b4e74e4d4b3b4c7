import CLinux
import Glibc
import TestSupport

@testable import Outputs

/// Packets for the tests with hostile brokers, and a connection process that receives them.
enum HostileBroker {
  /// A packet that no broker may send, and the error it causes. Clauses refer to MQTT 5.
  struct Packet: Sendable, CustomStringConvertible {
    var description: String
    /// Whether the packet is sent in place of the answer to the connection request.
    var isFirst = false
    var bytes: [UInt8]
  }

  private static func publish(
    flags: UInt8 = 0, topic: [UInt8] = Array("a".utf8), identifier: [UInt8] = [], properties: [UInt8] = [0],
    _ payload: [UInt8] = []
  ) -> [UInt8] {
    ScriptedBroker.packet(
      0x30 | flags, [UInt8(topic.count >> 8), UInt8(topic.count & 0xff)] + topic + identifier + properties + payload)
  }

  private static func answer(_ properties: [UInt8]) -> [UInt8] {
    ScriptedBroker.packet(0x20, [0, 0] + ScriptedBroker.length(properties.count) + properties)
  }

  static let packets: [Packet] = answers + messages + others

  /// Packets in place of CONNACK (3.2).
  private static let answers: [Packet] = [
    Packet(description: "an unknown property", isFirst: true, bytes: answer([0x7f])),
    Packet(description: "property 0", isFirst: true, bytes: answer([0])),
    Packet(description: "a property of PUBLISH", isFirst: true, bytes: answer([0x23, 0, 1])),
    Packet(description: "a property of CONNECT", isFirst: true, bytes: answer([0x17, 1])),
    Packet(description: "a property twice", isFirst: true, bytes: answer([0x21, 0, 9, 0x21, 0, 9])),
    Packet(description: "a flag that is neither 0 nor 1", isFirst: true, bytes: answer([0x25, 2])),
    Packet(description: "a receive maximum of 0", isFirst: true, bytes: answer([0x21, 0, 0])),
    Packet(description: "a packet size of 0", isFirst: true, bytes: answer([0x27, 0, 0, 0, 0])),
    Packet(description: "a maximum QoS of 7", isFirst: true, bytes: answer([0x24, 7])),
    Packet(description: "a text that is cut off", isFirst: true, bytes: answer([0x12, 0, 9, 0x61])),
    Packet(description: "a text that is no UTF-8", isFirst: true, bytes: answer([0x1f, 0, 2, 0xc0, 0x80])),
    Packet(
      description: "a user's property that is cut off", isFirst: true, bytes: answer([0x26, 0, 1, 0x61, 0xff, 0xff])),
    Packet(description: "a number that is cut off", isFirst: true, bytes: answer([0x11, 0])),
    Packet(description: "properties longer than the packet", isFirst: true, bytes: [0x20, 3, 0, 0, 0x7f]),
    Packet(
      description: "a length of properties of five bytes", isFirst: true,
      bytes: [0x20, 7, 0, 0, 0xff, 0xff, 0xff, 0xff, 1]),
    Packet(description: "no properties", isFirst: true, bytes: [0x20, 2, 0, 0]),
    Packet(description: "one byte", isFirst: true, bytes: [0x20, 1, 0]),
    Packet(description: "nothing", isFirst: true, bytes: [0x20, 0]),
    Packet(description: "flags of the head", isFirst: true, bytes: [0x2f, 3, 0, 0, 0]),
    Packet(description: "flags of the answer", isFirst: true, bytes: [0x20, 3, 0xfe, 0, 0]),
    Packet(description: "an undefined reason", isFirst: true, bytes: [0x20, 3, 0, 0xff, 0]),
    Packet(description: "a session that was never begun", isFirst: true, bytes: [0x20, 3, 1, 0, 0]),
    Packet(description: "the answer of MQTT 3.1.1", isFirst: true, bytes: [0x20, 2, 0, 1]),
    Packet(
      description: "a remaining length of five bytes", isFirst: true, bytes: [0x20, 0xff, 0xff, 0xff, 0xff, 0x7f]),
    Packet(
      description: "a remaining length that does not end", isFirst: true,
      bytes: [0x20, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80]),
    Packet(
      description: "a remaining length in more bytes than it takes", isFirst: true, bytes: [0x20, 0x83, 0, 0, 0, 0]),
    Packet(description: "packet type 0", isFirst: true, bytes: [0, 0]),
    Packet(
      description: "CONNECT", isFirst: true,
      bytes: ScriptedBroker.packet(0x10, [0, 4] + Array("MQTT".utf8) + [5, 2, 0, 60, 0, 0, 1, 0x61])),
    Packet(description: "PUBLISH", isFirst: true, bytes: publish([1])),
    Packet(description: "SUBACK", isFirst: true, bytes: [0x90, 4, 0, 1, 0, 0]),
    Packet(description: "AUTH", isFirst: true, bytes: ScriptedBroker.packet(0xf0, [0x18, 4, 0x15, 0, 1, 0x61])),
    Packet(
      description: "HTTP", isFirst: true, bytes: Array("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n".utf8)),
    Packet(description: "TLS", isFirst: true, bytes: [0x15, 3, 1, 0, 2, 2, 40]),
  ]

  /// Invalid PUBLISH packets (3.3).
  private static let messages: [Packet] = [
    Packet(description: "QoS 3", bytes: publish(flags: 6, identifier: [0, 1])),
    Packet(description: "a second time at QoS 0", bytes: publish(flags: 8)),
    Packet(description: "identifier 0", bytes: publish(flags: 2, identifier: [0, 0])),
    Packet(description: "no topic and no alias", bytes: publish(topic: [])),
    Packet(description: "a topic with a NUL", bytes: publish(topic: [0x61, 0, 0x62])),
    Packet(description: "a topic with wildcards", bytes: publish(topic: Array("a/#/+".utf8))),
    Packet(description: "a topic that is no UTF-8", bytes: publish(topic: [0xff, 0xfe, 0xc0, 0xaf])),
    Packet(description: "half of a surrogate pair", bytes: publish(topic: [0xed, 0xa0, 0x80])),
    Packet(description: "a topic longer than the packet", bytes: [0x30, 4, 0xff, 0xff, 0x61, 0]),
    Packet(description: "a topic of 64 kB", bytes: publish(topic: [UInt8](repeating: 0x61, count: 0xffff))),
    Packet(description: "no properties", bytes: [0x30, 3, 0, 1, 0x61]),
    Packet(description: "an unknown property", bytes: publish(properties: [1, 0x7f])),
    Packet(description: "a property of CONNACK", bytes: publish(properties: [3, 0x21, 0, 1])),
    Packet(description: "topic alias 0", bytes: publish(topic: [], properties: [3, 0x23, 0, 0])),
    Packet(
      description: "a topic alias that was never given", bytes: publish(topic: [], properties: [3, 0x23, 0xff, 0xff])),
    Packet(description: "subscription identifier 0", bytes: publish(properties: [2, 0x0b, 0])),
    Packet(
      description: "a subscription identifier of five bytes",
      bytes: publish(properties: [6, 0x0b, 0xff, 0xff, 0xff, 0xff, 1])),
    Packet(
      description: "correlation data longer than the packet", bytes: publish(properties: [4, 0x09, 0xff, 0xff, 1])),
    Packet(
      description: "a payload that is said to be text and is not", bytes: publish(properties: [2, 1, 1], [0xff, 0xfe])),
    Packet(description: "properties longer than the packet", bytes: publish(properties: [0x7f])),
    Packet(description: "nothing", bytes: [0x30, 0]),
    Packet(description: "half a megabyte, beyond the limit", bytes: publish([UInt8](repeating: 0x61, count: 1 << 19))),
    Packet(description: "less than it says", bytes: [0x30, 0xff, 0xff, 0x03, 0, 1, 0x61, 0]),
  ]

  /// Invalid packets of all other kinds, sent to a connected client.
  private static let others: [Packet] = [
    Packet(description: "let in twice", bytes: ScriptedBroker.accepted),
    Packet(description: "let in once more, with an unknown property", bytes: answer([0x7f])),
    Packet(description: "SUBACK of nothing", bytes: [0x90, 4, 0xff, 0xff, 0, 0]),
    Packet(description: "SUBACK without a reason", bytes: [0x90, 3, 0, 1, 0]),
    Packet(
      description: "SUBACK with a thousand",
      bytes: ScriptedBroker.packet(0x90, [0, 1, 0] + [UInt8](repeating: 0, count: 1000))),
    Packet(description: "SUBACK with an unknown property", bytes: [0x90, 5, 0, 1, 1, 0x7f, 0]),
    Packet(description: "SUBACK with flags", bytes: [0x9f, 4, 0, 1, 0, 0]),
    Packet(description: "PUBACK of nothing", bytes: [0x40, 2, 0xff, 0xff]),
    Packet(description: "PUBACK with identifier 0", bytes: [0x40, 2, 0, 0]),
    Packet(description: "PUBACK with an undefined reason", bytes: [0x40, 4, 0, 1, 0xfe, 0]),
    Packet(description: "PUBACK with an unknown property", bytes: [0x40, 5, 0, 1, 0, 1, 0x7f]),
    Packet(description: "PUBACK that is cut off", bytes: [0x40, 1, 0]),
    Packet(description: "PUBREC of nothing", bytes: [0x50, 2, 0xff, 0xff]),
    Packet(description: "PUBREC of a message of QoS 1", bytes: [0x50, 2, 0, 1]),
    Packet(description: "PUBREL of nothing", bytes: [0x62, 2, 0xff, 0xff]),
    Packet(description: "PUBREL without its flags", bytes: [0x60, 2, 0, 1]),
    Packet(description: "PUBREL with an unknown property", bytes: [0x62, 5, 0, 1, 0, 1, 0x7f]),
    Packet(description: "PUBCOMP of nothing", bytes: [0x70, 2, 0xff, 0xff]),
    Packet(description: "PUBCOMP that is cut off", bytes: [0x70, 0]),
    Packet(description: "SUBSCRIBE", bytes: [0x82, 7, 0, 1, 0, 0, 1, 0x61, 0]),
    Packet(description: "UNSUBSCRIBE", bytes: [0xa2, 6, 0, 1, 0, 0, 1, 0x61]),
    Packet(description: "UNSUBACK of nothing", bytes: [0xb0, 4, 0xff, 0xff, 0, 0]),
    Packet(description: "UNSUBACK that is cut off", bytes: [0xb0, 2, 0, 1]),
    Packet(description: "UNSUBACK with an unknown property", bytes: [0xb0, 5, 0, 1, 1, 0x7f, 0]),
    Packet(description: "PINGREQ", bytes: [0xc0, 0]),
    Packet(description: "an unrequested PINGRESP with content", bytes: [0xd0, 3, 1, 2, 3]),
    Packet(description: "DISCONNECT with an undefined reason", bytes: [0xe0, 1, 0x7b]),
    Packet(description: "DISCONNECT with an unknown property", bytes: [0xe0, 3, 0x8b, 1, 0x7f]),
    Packet(description: "DISCONNECT with flags", bytes: [0xef, 0]),
    Packet(
      description: "DISCONNECT with another server that is cut off", bytes: [0xe0, 6, 0x9d, 4, 0x1c, 0xff, 0xff, 0x61]),
    Packet(description: "an unrequested AUTH", bytes: ScriptedBroker.packet(0xf0, [0x18, 4, 0x15, 0, 1, 0x61])),
    Packet(description: "AUTH with an unknown property", bytes: ScriptedBroker.packet(0xf0, [0, 1, 0x7f])),
    Packet(description: "AUTH with nothing", bytes: [0xf0, 0]),
    Packet(description: "packet type 0", bytes: [0x0f, 2, 1, 2]),
    Packet(description: "nothing but ones", bytes: [UInt8](repeating: 0xff, count: 4096)),
  ]

  /// Valid packets of brokers, from which the mutations are made.
  private static let right: [[UInt8]] = [
    ScriptedBroker.accepted, answer([0x21, 0, 20, 0x22, 0, 10, 0x24, 1, 0x25, 1, 0x27, 0, 1, 0, 0]),
    answer([0x12, 0, 3, 0x61, 0x62, 0x63, 0x13, 0, 60, 0x1f, 0, 2, 0x6f, 0x6b, 0x26, 0, 1, 0x61, 0, 1, 0x62]),
    [0x90, 4, 0, 1, 0, 1], ScriptedBroker.packet(0x90, [0, 2, 5, 0x1f, 0, 2, 0x6f, 0x6b, 1]),
    publish(topic: Array("sensorhub/boat/interest/a/state".utf8), Array(#"{"rateHz":1}"#.utf8)),
    publish(flags: 3, topic: Array("a/b".utf8), identifier: [0, 7], properties: [5, 2, 0, 0, 0, 60], [1, 2, 3]),
    publish(flags: 4, identifier: [0, 8], properties: [9, 1, 1, 3, 0, 1, 0x74, 0x0b, 1, 0x0b, 2], [0x61]),
    publish(properties: [12, 8, 0, 1, 0x72, 9, 0, 1, 1, 0x23, 0, 1, 0], [0x62]),
    [0x40, 2, 0, 3], [0x40, 4, 0, 3, 0x10, 0], [0x50, 3, 0, 3, 0], [0x62, 2, 0, 8], [0x70, 2, 0, 3],
    [0xb0, 4, 0, 1, 0, 0],
    [0xd0, 0], [0xe0, 2, 0x8b, 0], ScriptedBroker.packet(0xe0, [0x9d, 6, 0x1c, 0, 3, 0x78, 0x3a, 0x31]),
    ScriptedBroker.packet(0xf0, [0x18, 7, 0x15, 0, 1, 0x61, 0x16, 0, 0]),
  ]

  /// Returns a packet that is nearly valid.
  static func mutated(_ random: inout SeededRandom) -> [UInt8] {
    var packet = right.randomElement(using: &random) ?? []
    for _ in 0...Int.random(in: 0...3, using: &random) {
      let index = Int.random(in: 0..<max(1, packet.count), using: &random)
      guard index < packet.count else { break }
      switch Int.random(in: 0..<7, using: &random) {
      case 0: packet[index] ^= 1 << UInt8.random(in: 0...7, using: &random)
      case 1: packet[index] = [0, 1, 0x7f, 0x80, 0xff].randomElement(using: &random) ?? 0
      case 2: packet[index] = UInt8.random(in: .min ... .max, using: &random)
      case 3: packet.insert(UInt8.random(in: .min ... .max, using: &random), at: index)
      case 4: packet.remove(at: index)
      case 5: packet.removeLast(packet.count - index)
      default: packet += packet[index...]
      }
    }
    // A packet that is longer than stated counts as two, of which the second is something else. Most packets should be
    // complete.
    if packet.count > 2, packet.count < 120, Int.random(in: 0..<4, using: &random) > 0 {
      packet[1] = UInt8(packet.count - 2)
    }
    return packet
  }

  /// Connects to a broker as a hub does, and reports the outcome.
  static func visit(_ port: UInt16) throws -> Visit {
    var access = BrokerAccess(host: "127.0.0.1", port: port, identifier: "boat")
    access.subscriptions = ["sensorhub/boat/interest/+/+", "sensorhub/boat/status"]
    access.maximumPacketByteCount = 8 << 10
    let process = try Program.starting { try BrokerProcess(access, program: Program.sensorhub) }
    var visit = Visit()
    while true {
      var descriptor = pollfd(fd: process.socket, events: Int16(POLLIN), revents: 0)
      poll(&descriptor, 1, -1)
      do throws(BrokerProcess.Failure) {
        try process.read { visit.take($0) }
      } catch {
        visit.reason = error.reason
        return visit
      }
    }
  }

  struct Visit {
    var reports: [BrokerReport] = []
    /// How the connection's process ended.
    var reason = ""

    /// Whether libmosquitto has ended the process.
    var hasCrashed: Bool { reason.contains("crashes libmosquitto") }
    var isLetIn: Bool {
      reports.contains { if case .answered(let reason, _) = $0 { reason.code == 0 } else { false } }
    }
    /// The last message of the process.
    var words: String? { if case .ended(let words) = reports.last { words } else { nil } }
    var leftOutByteCounts: [UInt32] {
      reports.compactMap { if case .leftOut(let byteCount) = $0 { byteCount } else { nil } }
    }

    mutating func take(_ report: BrokerReport) { reports.append(report) }
  }
}
