import Guarding
import TestSupport
import Testing

/// Fences that a viewer adds through a broker. The broker is scripted.
@Suite(.serialized, .timeLimit(.minutes(10))) struct FenceCommandTests {
  /// Plays a broker with one client: it answers subscriptions and messages, and records the client's messages.
  private final class Broker: Sendable {
    let messages = Recorder<(topic: String, payload: String)>()
    let subscriptions = Recorder<String>()
    /// The packets to send once the client has subscribed to everything.
    private let outgoing = Guarded<[[UInt8]]>([])

    /// Sends a message to the client (MQTT 5, 3.3).
    func send(_ payload: String, on topic: String, isRetained: Bool = false) {
      let name = Array(topic.utf8)
      let body = [UInt8(name.count >> 8), UInt8(name.count & 0xff)] + name + [0] + Array(payload.utf8)
      outgoing.withLock { $0.append(ScriptedBroker.packet(isRetained ? 0x31 : 0x30, body)) }
    }

    /// Serves a client until it disconnects.
    func serve(_ visit: ScriptedBroker.Visit) {
      visit.send(ScriptedBroker.accepted)
      var taken = 0
      while visit.isOpen {
        let said = Array(visit.said.dropFirst(taken))
        if let (packet, body) = FenceCommandTests.firstPacket(of: said) {
          taken += packet.count
          visit.send(answer(to: packet[0], body))
          continue
        }
        for packet in outgoing.withLock({ packets in
          defer { packets = [] }
          return packets
        }) { visit.send(packet) }
        hold { visit.said.count > taken + said.count || !visit.isOpen || outgoing.withLock { !$0.isEmpty } }
      }
    }

    private func answer(to head: UInt8, _ body: [UInt8]) -> [UInt8] {
      switch head & 0xf0 {
      case 0x80:
        // SUBSCRIBE (3.8): the identifier, properties, and a filter with its options.
        subscriptions.append(String(decoding: body.dropFirst(5).dropLast(), as: UTF8.self))
        return ScriptedBroker.packet(0x90, Array(body.prefix(2)) + [0, 1])
      case 0x30:
        let length = Int(body[0]) << 8 | Int(body[1])
        let topic = String(decoding: body[2..<2 + length], as: UTF8.self)
        var rest = body.dropFirst(2 + length)
        let identifier = head & 0x06 == 0 ? [] : Array(rest.prefix(2))
        rest = rest.dropFirst(identifier.count)
        // The properties are shorter than 128 bytes.
        let properties = Int(rest.first ?? 0)
        messages.append((topic, String(decoding: rest.dropFirst(1 + properties), as: UTF8.self)))
        return identifier.isEmpty ? [] : ScriptedBroker.packet(0x40, identifier)
      case 0xc0: return [0xd0, 0]
      default: return []
      }
    }
  }

  /// The first complete packet, and its bytes after the length.
  private static func firstPacket(of bytes: [UInt8]) -> (packet: [UInt8], body: [UInt8])? {
    var (length, shift, index) = (0, 0, 1)
    while index < bytes.count, index < 5 {
      length |= Int(bytes[index] & 0x7f) << shift
      shift += 7
      index += 1
      guard bytes[index - 1] & 0x80 == 0 else { continue }
      guard bytes.count >= index + length else { return nil }
      return (Array(bytes[..<(index + length)]), Array(bytes[index..<(index + length)]))
    }
    return nil
  }

  @Test func `a viewer at a broker adds and removes a fence, which survives a restart`() throws {
    let script = Broker()
    let broker = ScriptedBroker { script.serve($0) }
    defer { broker.end() }
    let folder = TemporaryFolder("fence-command")
    let board = HubProcess.simulatedBoard("mqtt: { broker: \"mqtt://127.0.0.1:\(broker.port)\", hub: \"boat\" }")
    let command = "sensorhub/boat/command/anna/phone/fence"
    func answers() -> [String] {
      script.messages.values.filter { $0.topic == "sensorhub/boat/answer/anna/phone/fence" }.map(\.payload)
    }
    let hub = HubProcess(board: board, environment: ["STATE_DIRECTORY=\(folder.path)"])
    #expect(script.subscriptions.waits { $0.contains("sensorhub/boat/command/+/+/fence") })
    // A retained command may be old.
    script.send(#"{"removeFence": "nothing"}"#, on: command, isRetained: true)
    script.send(
      #"{"fence": {"name": "anchor", "radiusMetres": 40, "latitude": 54.4, "longitude": 10.2}, "id": "1"}"#, on: command
    )
    #expect(script.messages.waits { _ in answers().count == 1 })
    #expect(answers().first?.hasPrefix(#"{"id":"1","class":"FENCE","name":"anchor","added":true,"kept":true"#) == true)
    #expect(
      script.messages.waits { $0.contains { $0.topic == "sensorhub/boat/fences" && $0.payload.contains("anchor") } })
    #expect(hub.stop() == 0)
    let next = HubProcess(board: board, environment: ["STATE_DIRECTORY=\(folder.path)"])
    // Send the next command only after the next hub has subscribed too.
    #expect(script.subscriptions.waits { $0.count { $0 == "sensorhub/boat/command/+/+/fence" } == 2 })
    script.send(#"{"removeFence": "anchor"}"#, on: command)
    #expect(script.messages.waits { _ in answers().count == 2 })
    #expect(answers().last?.hasPrefix(#"{"class":"FENCE","name":"anchor","removed":true"#) == true, "\(answers())")
    #expect(next.stop() == 0)
  }
}
