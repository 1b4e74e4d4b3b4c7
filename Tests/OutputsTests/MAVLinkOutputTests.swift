import Guarding
import HardwareIO
import Hub
import Publishing
import TestSupport
import Testing

@testable import Outputs

/// The output with an autopilot in the test's process, and with one by pymavlink.
@Suite(.timeLimit(.minutes(10))) struct MAVLinkOutputTests {
  private struct Nowhere: LogDestination {
    func write(_ entry: LogEntry) {}
  }

  /// A hub with simulated devices, its output, and the socket of an autopilot.
  private final class Vehicle {
    let port = SocketClient.freePort()
    let autopilot: DatagramSocket?
    let hub: ServedHub
    let log = Recorder<String>()
    private(set) var hubPort: UInt16 = 0
    private(set) var numbers: [Int] = []
    private let lifetime = Lifetime()
    private let service: Task<Void, any Error>

    /// - Parameter hasSocket: whether the autopilot is this test; otherwise another program opens its port
    init(_ settings: String, hasSocket: Bool = true) throws {
      autopilot = hasSocket ? DatagramSocket(port: port) : nil
      hub = try ServedHub("mavlink: { to: \"udp://127.0.0.1:\(port)\", \(settings) }")
      let sink = JournalSink(to: Nowhere())
      sink.observe { [log] in log.append($0.message) }.store(in: lifetime)
      let output = MAVLinkOutput(host: hub.host, sink: sink)
      service = Task { try await output.run() }
    }

    func end() async {
      service.cancel()
      _ = await service.result
      await hub.end()
      lifetime.end()
    }

    /// Takes the datagrams that have arrived.
    func takeAll() {
      while let (bytes, from) = autopilot?.nextWithPort() {
        hubPort = from
        guard bytes.count > 9, bytes[0] == 0xFD else { continue }
        numbers.append(Int(bytes[7]) | Int(bytes[8]) << 8)
      }
    }

    /// Blocks until the hub has sent a message.
    func sends(_ kind: MAVLinkMessage.Kind) -> Bool {
      eventually {
        takeAll()
        return numbers.contains(kind.rawValue)
      }
    }

    func send(_ message: MAVLinkMessage) {
      autopilot?.send(message.frame(sequence: 0, system: 1, component: 1), to: hubPort)
    }
  }

  /// The heartbeat of a PX4.
  private static var heartbeat: MAVLinkMessage {
    var fields = MAVLinkFields()
    for value in [0, 0, 0, 0, 2, 12, 0, 4, 3] { fields.add(value, bytes: 1) }
    return MAVLinkMessage(.heartbeat, fields)
  }

  @Test func `the output wakes no device, and sends while a client listens`() async throws {
    let vehicle = try Vehicle("simulated: true, messages: [\"GPS_INPUT\", \"GPS_RAW_INT\"]")
    #expect(vehicle.log.waits { $0.contains { $0.contains("SIMULATED values") } })
    let client = vehicle.hub.hub.state.subscribe(as: "watch", receiveValue: { _ in })
    for kind: MAVLinkMessage.Kind in [.heartbeat, .gpsInput, .gpsRaw] { #expect(vehicle.sends(kind), "\(kind)") }
    #expect(try vehicle.hub.device("gps").holders == ["watch"])
    client.cancel()
    #expect(vehicle.hub.comesToRest())
    await vehicle.end()
  }

  @Test func `the autopilot is asked for its time, and gets the hub's time`() async throws {
    let vehicle = try Vehicle("simulated: true, keepsAwake: true, parts: [\"attitude\"]")
    #expect(vehicle.sends(.heartbeat))
    #expect(try vehicle.hub.device("imu").holders == ["mavlink udp://127.0.0.1:\(vehicle.port) (attitude)"])
    #expect(!vehicle.numbers.contains(MAVLinkMessage.Kind.timeSync.rawValue))
    vehicle.send(Self.heartbeat)
    #expect(vehicle.sends(.timeSync))
    #expect(vehicle.log.waits { $0.contains { $0.contains("the autopilot is system 1, component 1 (PX4)") } })
    try await vehicle.hub.reload(HubProcess.simulatedBoard(""))
    #expect(vehicle.hub.comesToRest())
    await vehicle.end()
  }

  @Test func `messages that the hub does not understand are counted`() async throws {
    let vehicle = try Vehicle("simulated: true, keepsAwake: true")
    #expect(vehicle.sends(.heartbeat))
    vehicle.autopilot?.send(Array("no frame".utf8), to: vehicle.hubPort)
    vehicle.send(.timeSync(answer: 1, request: 1, to: (1, 191)))
    #expect(eventually { vehicle.hub.host.traffic.mavlink.refusedClients == 2 })
    // The kernel discards what another socket sends.
    let stranger = DatagramSocket(port: SocketClient.freePort())
    stranger.send(Array("no frame".utf8), to: vehicle.hubPort)
    vehicle.send(Self.heartbeat)
    #expect(vehicle.sends(.timeSync))
    #expect(vehicle.hub.host.traffic.mavlink.refusedClients == 2)
    await vehicle.end()
  }

  @Test func `without permission, no simulated value is sent`() async throws {
    let vehicle = try Vehicle("keepsAwake: true")
    #expect(vehicle.log.waits { $0.contains { $0.contains("nothing is sent to udp://127.0.0.1") } })
    vehicle.takeAll()
    #expect(vehicle.numbers.isEmpty && vehicle.hub.hasWokenNothing)
    await vehicle.end()
  }

  @Test func `pymavlink reads all messages, and their times are those of its clock`() async throws {
    let vehicle = try Vehicle(
      "simulated: true, keepsAwake: true, messages: [\"GPS_INPUT\", \"GPS_RAW_INT\"]", hasSocket: false)
    let script = SharedData.packageFolder + "/Tests/OutputsTests/mavlink.py"
    #expect(Python.program([script, "\(vehicle.port)"]).wait() == 0)
    await vehicle.end()
  }

  @Test func `a serial line gets the same messages`() async throws {
    let terminal = PseudoTerminal()
    let settings = { (speed: Int) in
      "mavlink: { port: \"\(terminal.path)\", speed: \(speed), simulated: true, keepsAwake: true }"
    }
    let hub = try ServedHub(settings(115_200))
    let (log, lifetime) = (Recorder<String>(), Lifetime())
    let sink = JournalSink(to: Nowhere())
    sink.observe { log.append($0.message) }.store(in: lifetime)
    let output = MAVLinkOutput(host: hub.host, sink: sink)
    let service = Task { try await output.run() }
    #expect(eventually { terminal.readNow().contains(0xFD) })
    // With other settings, the next thread waits until the earlier one has closed the port.
    for speed in [57_600, 9600, 57_600] {
      try await hub.reload(HubProcess.simulatedBoard(settings(speed)))
      #expect(log.waits { $0.last == "MAVLink: messages go to \(terminal.path) at \(speed) baud" })
    }
    #expect(!log.values.contains { $0.contains("in use") }, "\(log.values)")
    service.cancel()
    _ = await service.result
    await hub.end()
    lifetime.end()
  }
}
