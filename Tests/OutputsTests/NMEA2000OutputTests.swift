import Guarding
import HardwareIO
import Hub
import Publishing
import TestSupport
import Testing

@testable import Outputs

/// The output on a stand-in bus with another device.
@Suite(.timeLimit(.minutes(10))) struct NMEA2000OutputTests {
  private struct Nowhere: LogDestination {
    func write(_ entry: LogEntry) {}
  }

  /// A hub with simulated devices, and its output.
  private final class Boat: Sendable {
    let bus = StandInCANBus()
    let other: StandInCANBus.Member
    let hub: ServedHub
    let log = Recorder<String>()
    private let lifetime = Lifetime()
    private let service: Task<Void, any Error>

    init(_ settings: String, patience: Duration = NMEA2000Link.usualPatience) throws {
      other = bus.join()
      hub = try ServedHub("nmea2000: { \(settings) }")
      let sink = JournalSink(to: Nowhere())
      sink.observe { [log] in log.append($0.message) }.store(in: lifetime)
      let output = NMEA2000Output(host: hub.host, sink: sink, patience: patience) { [bus] _ in bus.join() }
      service = Task { try await output.run() }
    }

    func end() async {
      service.cancel()
      _ = await service.result
      await hub.end()
      lifetime.end()
    }

    /// Blocks until a frame of a group was sent from an address.
    func sends(_ group: NMEA2000Message.Group, from address: UInt8) -> Bool {
      bus.frames.waits { $0.contains { NMEA2000OutputTests.is($0, group, from: address) } }
    }
  }

  private static func `is`(_ frame: CANFrame, _ group: NMEA2000Message.Group, from address: UInt8) -> Bool {
    let isAddressed = group.rawValue & 0xFF00 < 0xF000
    let number = frame.identifier >> 8 & (isAddressed ? 0x3_FF00 : 0x3_FFFF)
    return number == group.rawValue && frame.identifier & 0xFF == UInt32(address)
  }

  @Test func `the output wakes no device, and sends while a client listens`() async throws {
    let boat = try Boat("interface: \"vcan0\"")
    #expect(boat.sends(.addressClaim, from: 60) && boat.sends(.heartbeat, from: 60))
    #expect(boat.hub.hasWokenNothing)
    let client = boat.hub.hub.state.subscribe(as: "watch", receiveValue: { _ in })
    for group: NMEA2000Message.Group in [.position, .courseAndSpeed, .gnssPosition, .attitude, .rateOfTurn] {
      #expect(boat.sends(group, from: 60), "\(group)")
    }
    #expect(try boat.hub.device("gps").holders == ["watch"])
    client.cancel()
    #expect(boat.hub.comesToRest())
    await boat.end()
  }

  @Test func `with keepsAwake the output is a subscription for its parts until a reload removes it`() async throws {
    let boat = try Boat("interface: \"vcan0\", address: 7, keepsAwake: true, parts: [\"attitude\"]")
    #expect(boat.sends(.attitude, from: 7))
    #expect(try boat.hub.device("imu").holders == ["nmea2000 vcan0 (attitude)"])
    #expect(try boat.hub.device("gps").wakes == 0)
    try await boat.hub.reload(HubProcess.simulatedBoard(""))
    #expect(boat.hub.comesToRest())
    await boat.end()
  }

  @Test func `a device with a lower name takes the address, and the values go on from the next one`() async throws {
    let boat = try Boat("interface: \"vcan0\", keepsAwake: true")
    #expect(boat.sends(.position, from: 60))
    var fields = NMEA2000Fields()
    fields.add(1, bytes: 8)
    #expect(try boat.other.send(NMEA2000Message(.addressClaim, fields).frames(from: 60, sequence: 0)[0]))
    #expect(boat.sends(.addressClaim, from: 61) && boat.sends(.position, from: 61))
    // After its claim, the hub sends nothing from the old address.
    let frames = boat.bus.frames.values
    let claim = frames.firstIndex { Self.is($0, .addressClaim, from: 61) } ?? 0
    #expect(!frames[claim...].contains { $0.identifier & 0xFF == 60 })
    #expect(boat.log.values.contains { $0.contains("values go to vcan0 from address 61") }, "\(boat.log.values)")
    await boat.end()
  }

  @Test func `a request is answered by product information in a fast packet`() async throws {
    let boat = try Boat("interface: \"vcan0\"")
    #expect(boat.sends(.heartbeat, from: 60))
    #expect(try boat.other.send(CANFrame(identifier: 0x18EA_FF03, bytes: [0x14, 0xF0, 0x01])))
    #expect(boat.bus.frames.waits { $0.count { Self.is($0, .productInformation, from: 60) } == 20 })
    await boat.end()
  }

  @Test func `an interface that fails is reported once and opened again`() async throws {
    let boat = try Boat("interface: \"vcan0\"")
    #expect(boat.sends(.heartbeat, from: 60))
    boat.bus.breakDown()
    #expect(boat.bus.frames.waits { $0.count { Self.is($0, .heartbeat, from: 60) } == 2 })
    #expect(boat.log.values.count { $0.contains("the stand-in bus has gone away") } == 1, "\(boat.log.values)")
    await boat.end()
  }

  @Test func `values that a stalled bus does not take are dropped and counted`() async throws {
    let boat = try Boat("interface: \"vcan0\", keepsAwake: true")
    #expect(boat.sends(.position, from: 60))
    boat.bus.isStalled = true
    #expect(eventually { boat.hub.host.traffic.nmea.droppedValues > 0 })
    let count = boat.bus.frames.values.count
    boat.bus.isStalled = false
    #expect(boat.bus.frames.waits { $0.count > count + 100 })
    await boat.end()
  }

  @Test func `values do not wait for a silent bus, and its first new device makes the hub claim its address`()
    async throws
  {
    let boat = try Boat("interface: \"vcan0\", keepsAwake: true", patience: .milliseconds(50))
    #expect(boat.sends(.position, from: 60))
    boat.bus.isStalled = true
    #expect(boat.log.waits { $0.contains { $0.contains("no device on vcan0 acknowledges frames") } })
    let count = boat.bus.frames.values.count
    boat.bus.isStalled = false
    // Without the other device the hub would try after a minute.
    #expect(try boat.other.send(CANFrame(identifier: 0x18EA_FF03, bytes: [0x00, 0xEE, 0x00])))
    #expect(boat.bus.frames.waits { $0[count...].contains { Self.is($0, .position, from: 60) } })
    let frames = boat.bus.frames.values[count...].filter { $0.identifier & 0xFF == 60 }
    #expect(frames.first.map { Self.is($0, .addressClaim, from: 60) } == true)
    #expect(boat.log.waits { $0.count { $0.contains("values go to vcan0 from address 60") } == 2 })
    #expect(boat.log.values.count { $0.contains("acknowledges") } == 1, "\(boat.log.values)")
    await boat.end()
  }

  @Test func `simulated values go to virtual interfaces only`() async throws {
    let boat = try Boat("interface: \"can0\", keepsAwake: true")
    #expect(boat.log.waits { $0.contains { $0.contains("nothing is sent to can0") } })
    #expect(boat.bus.frames.values.isEmpty && boat.hub.hasWokenNothing)
    await boat.end()
  }
}
