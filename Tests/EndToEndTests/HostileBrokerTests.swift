import CLinux
import Glibc
import Guarding
import HardwareIO
import TestSupport
import Testing

@testable import Outputs

/// A broker, or an attacker on the line to it, sends arbitrary bytes. They end the connection and do nothing else.
@Suite(.serialized, .timeLimit(.minutes(20))) struct HostileBrokerTests {
  /// The largest memory use of a hub that has been attacked.
  private static let mostKilobytes = 160 << 10

  /// Accepts a client, then sends the packets.
  private static func say(_ packets: [UInt8], to visit: ScriptedBroker.Visit, isLetIn: Bool) {
    if isLetIn { visit.send(ScriptedBroker.accepted) }
    visit.send(packets)
    visit.end()
  }

  @Test func `an invalid packet from the broker only ends its connection`() throws {
    let broker = ScriptedBroker { visit in
      guard visit.number < HostileBroker.packets.count else {
        return HostileBrokerTests.say([], to: visit, isLetIn: true)
      }
      let packet = HostileBroker.packets[visit.number]
      HostileBrokerTests.say(packet.bytes, to: visit, isLetIn: !packet.isFirst)
    }
    defer { broker.end() }
    var crashes: [String] = []
    for packet in HostileBroker.packets {
      let visit = try HostileBroker.visit(broker.port)
      // libmosquitto decides what it reports. It reports an error, or its process has ended.
      #expect(visit.words != nil || visit.hasCrashed, "\(packet): \(visit)")
      if visit.hasCrashed { crashes.append(packet.description) }
      for case .received(let topic, let payload, _, _) in visit.reports {
        #expect(topic.utf8.count + payload.count <= 3 * 8 << 10, "\(packet)")
      }
    }
    print("\(HostileBroker.packets.count) wrong packets; libmosquitto does not survive: \(crashes)")
    #expect(try HostileBroker.visit(broker.port).isLetIn)
  }

  @Test func `a message longer than the hub's limit is dropped, and never held in memory`() throws {
    let payload = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 19)
    let broker = ScriptedBroker { visit in
      visit.send(ScriptedBroker.accepted)
      if visit.number == 0 {
        visit.send(ScriptedBroker.packet(0x30, [0, 1, UInt8(ascii: "a"), 0] + payload))
        visit.send(ScriptedBroker.packet(0x30, [0, 1, UInt8(ascii: "b"), 0] + Array("short".utf8)))
        visit.end()
      } else {
        // The packet has the largest possible length.
        visit.send([0x30, 0xff, 0xff, 0xff, 0x7f, 0, 1, UInt8(ascii: "a"), 0])
        while visit.isOpen { visit.send(payload) }
      }
    }
    defer { broker.end() }
    let long = try HostileBroker.visit(broker.port)
    #expect(long.leftOutByteCounts == [UInt32(payload.count + 1)])
    #expect(
      long.reports.contains(.received(topic: "b", payload: Array("short".utf8), isRetained: false, expirySeconds: nil)),
      "\(long)")
    let longest = try HostileBroker.visit(broker.port)
    #expect(longest.isLetIn)
    #expect(longest.words == "a message takes more memory than a connection may have", "\(longest)")
  }

  @Test func `messages that need no acknowledgement do not put off the ping`() throws {
    let hasPinged = Guarded(false)
    let broker = ScriptedBroker { visit in
      visit.send(ScriptedBroker.accepted)
      var count = 0
      while visit.isOpen, !hasPinged.withLock({ $0 }), count < 600 {
        visit.send(ScriptedBroker.packet(0x30, [0, 1, UInt8(ascii: "a"), 0]))
        usleep(100_000)
        count += 1
        hasPinged.withLock { $0 = visit.said.suffix(2) == [0xC0, 0] }
      }
      visit.close()
    }
    defer { broker.end() }
    var access = BrokerAccess(host: "127.0.0.1", port: broker.port, identifier: "boat")
    // The shortest time that libmosquitto admits.
    access.keepAliveSeconds = 5
    let process = try Program.starting { try BrokerProcess(access, program: Program.sensorhub) }
    var (messageCount, isOver) = (0, false)
    while !isOver {
      var descriptor = pollfd(fd: process.socket, events: Int16(POLLIN), revents: 0)
      poll(&descriptor, 1, -1)
      do throws(BrokerProcess.Failure) {
        try process.read { if case .received = $0 { messageCount += 1 } }
      } catch {
        isOver = true
      }
    }
    // Ten messages a second came until then, for a minute at most.
    #expect(hasPinged.withLock { $0 } && messageCount > 10)
  }

  /// The variable SENSORHUB_MQTT_PACKETS=1000000 sets the number of packets.
  @Test(.timeLimit(.minutes(600))) func `an almost valid packet from the broker only ends its connection`() throws {
    let count = getenv("SENSORHUB_MQTT_PACKETS").flatMap { Int(String(cString: $0)) } ?? 3000
    let perVisit = 10
    let random = Guarded(SeededRandom())
    let last = Guarded<[UInt8]>([])
    let broker = ScriptedBroker { visit in
      let (isLetIn, packets) = random.withLock { random in
        var packets: [UInt8] = []
        for _ in 0..<perVisit { packets += HostileBroker.mutated(&random) }
        return (Int.random(in: 0..<8, using: &random) > 0, packets)
      }
      last.withLock { $0 = packets }
      HostileBrokerTests.say(packets, to: visit, isLetIn: isLetIn)
    }
    var crashCount = 0
    for _ in 0..<(count / perVisit) {
      let visit = try HostileBroker.visit(broker.port)
      #expect(visit.words != nil || visit.hasCrashed, "\(last.withLock { $0 }): \(visit)")
      crashCount += visit.hasCrashed ? 1 : 0
    }
    broker.end()
    print(
      "\(count) packets that are nearly right in \(count / perVisit) connections; libmosquitto did not survive \(crashCount)"
    )
  }

  @Test func `a hub survives a hostile broker, serves others in the meantime, and joins a good one afterwards`() throws
  {
    let nmea = SocketClient.freePort()
    let broker = Broker()
    broker.stop()
    let hostile = ScriptedBroker(port: broker.port) { visit in
      switch visit.number {
      case 0: visit.send([0x20, 4, 0, 0, 1, 0x7f])
      case 1:
        visit.send(ScriptedBroker.accepted)
        visit.send([0x30, 0xff, 0xff, 0xff, 0x7f, 0, 1, UInt8(ascii: "a"), 0])
        let piece = [UInt8](repeating: 0, count: 1 << 20)
        while visit.isOpen { visit.send(piece) }
      case 2:
        visit.send(ScriptedBroker.accepted)
        // The packets come as fast as possible, more than any hub gets. None of them is for this hub.
        let message = ScriptedBroker.packet(0x30, [0, 1, UInt8(ascii: "a"), 0] + [UInt8](repeating: 0x61, count: 4000))
        let messages = Array(repeatElement(message, count: 5000).joined())
        visit.send(messages)
      default: break
      }
      visit.end()
    }
    let hub = HubProcess(
      board: HubProcess.simulatedBoard(
        "nmea: { port: \(nmea) }, mqtt: { broker: \"\(broker.address)\", hub: \"boat\" }"))
    func log() -> String { hub.program.standardError }
    let client = SocketClient(port: nmea)
    #expect(client.receives { $0.contains("$GP") || $0.contains("$GN") }, "\(log())")
    #expect(hub.logs("data that crashes libmosquitto"), "\(log())")
    #expect(hub.logs("a message takes more memory than a connection may have"), "\(log())")
    #expect(hub.logs { $0.ranges(of: "joined \(broker.address) as 'boat'").count >= 2 }, "\(log())")
    // The other outputs have continued.
    let lines = client.lineCount
    #expect(client.receives(lineCount: lines + 6) && client.isOpen)
    let most = try #require(HubProcess.kilobytes("VmHWM", of: hub.program.pid))
    print("the hub's memory has been \(most) kB at most")
    #expect(most < HostileBrokerTests.mostKilobytes)
    hostile.end()
    let joined = log().ranges(of: "joined \(broker.address) as 'boat'").count
    // The next broker can use the port only once it is free.
    #expect(eventually { !SocketClient.isListening(broker.port) })
    broker.start()
    #expect(hub.logs { $0.ranges(of: "joined \(broker.address) as 'boat'").count > joined }, "\(log())")
    #expect(broker.retains("online", on: "sensorhub/boat/status"))
    #expect(hub.stop() == 0)
  }
}
