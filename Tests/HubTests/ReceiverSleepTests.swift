import Devices
import HardwareIO
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Hub

/// A receiver that was told to sleep keeps its supply. No other device does.
@Suite(.timeLimit(.minutes(10)))
struct ReceiverSleepTests {
  /// A receiver on a pseudo-terminal whose supply is a line.
  final class WiredHardware: Hardware {
    let levels = Recorder<Bool>()
    let ports = Recorder<String>()
    private let receiver: ScriptedReceiver

    /// The receiver's clock. It advances with the receiver's output, so by this clock no answer is late.
    var clock: ManualClock { receiver.clock }

    init(_ receiver: ScriptedReceiver) { self.receiver = receiver }

    func i2cBus(_ name: String) throws(HardwareError) -> any I2CBus { throw .notFound(name) }

    func serialPort(_ name: String, speed: BaudRate) throws(HardwareError) -> any SerialPort {
      ports.append("open")
      return WatchedPort(port: try LinuxSerialPort(receiver.path, speed: speed), ports: ports)
    }

    func gpioOutput(_ name: GPIOLineName, activeLow: Bool) throws(HardwareError) -> any GPIOOutput {
      Line(levels: levels, receiver: receiver)
    }

    func gpioEdges(_ name: GPIOLineName, falling: Bool) throws(HardwareError) -> any GPIOEdgeInput {
      throw .notFound("\(name)")
    }
  }

  private struct Line: GPIOOutput {
    let levels: Recorder<Bool>
    let receiver: ScriptedReceiver

    func set(_ level: Bool) {
      levels.append(level)
      if level { receiver.switchOn() }
    }

    func close() { levels.append(false) }
  }

  private struct WatchedPort: SerialPort {
    let port: LinuxSerialPort
    let ports: Recorder<String>

    var name: String { port.name }
    var fileDescriptor: Int32 { port.fileDescriptor }
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(HardwareError) -> Int { try port.read(into: buffer) }
    func write(_ bytes: [UInt8]) throws(HardwareError) { try port.write(bytes) }
    func writeNow(_ bytes: ArraySlice<UInt8>) throws(HardwareError) -> Int { try port.writeNow(bytes) }
    var unsentCount: Int { port.unsentCount }
    func setSpeed(_ speed: BaudRate) throws(HardwareError) { try port.setSpeed(speed) }
    func close() {
      port.close()
      ports.append("closed")
    }
  }

  static func kind(_ request: [UInt8]) -> UInt16 {
    request.count > 3 && request[0] == 0xB5 ? UInt16(request[2]) << 8 | UInt16(request[3]) : 0
  }

  /// Answers like an M8.
  static func answer(_ request: [UInt8]) -> ScriptedReceiver.Reaction {
    func text(_ text: String, _ count: Int) -> [UInt8] {
      Array(text.utf8) + [UInt8](repeating: 0, count: count - text.utf8.count)
    }
    switch kind(request) {
    case 0x0A04:
      return .says(
        MadeMessage.ubx(0x0A04, text("ROM CORE 3.01", 30) + text("00080000", 10) + text("PROTVER=18.00", 30)))
    case 0x2703: return .says(MadeMessage.ubx(0x2703, [1, 0, 0, 0, 0xCF, 0xFB, 0x03, 0xD2, 0x59]))
    case 0x0241: return .fallsAsleep
    case 0x0608 where request.count == 8:
      return .says(MadeMessage.ubx(0x0608, [0xE8, 3, 1, 0, 1, 0]) + MadeMessage.ubx(0x0501, [0x06, 0x08]))
    case 0: return .silence
    default: return .says(MadeMessage.ubx(0x0501, [request[2], request[3]]))
    }
  }

  static func receiver(
    wakes: Bool = true, _ react: @escaping @Sendable ([UInt8]) -> ScriptedReceiver.Reaction = answer
  ) -> ScriptedReceiver {
    ScriptedReceiver(wakes: wakes, reacting: react)
  }

  func board(power: String, rateHz: Int = 5) throws -> Board {
    let text = """
      { name: "test", devices: { gps: { driver: "ublox", port: "/dev/gps", speed: 9600, rateHz: \(rateHz), dynamicModel: "sea",
        power: { \(power) lingerSeconds: 0 } } } }
      """
    return try Board(json5: Array(text.utf8), file: "test")
  }

  func hub(_ hardware: WiredHardware, power: String) throws -> Hub {
    Hub(board: try board(power: power), hardware: hardware, clock: hardware.clock)
  }

  let line = #"switch: "gpio", chip: "c", line: "l","#

  /// Keeps the receiver awake until its rate has been set for the `count`th time.
  func wake(_ hub: Hub, _ receiver: ScriptedReceiver, settings count: Int) async throws {
    let lease = hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    await receiver.requests.values { $0.count { Self.kind($0) == 0x0608 && $0.count == 14 } >= count }
    lease.cancel()
    await hub.isOff()
  }

  /// How often the receiver was told to sleep.
  func sleeps(_ receiver: ScriptedReceiver) -> Int {
    receiver.requests.values.count { Self.kind($0) == 0x0241 }
  }
}
