import HardwareIO
import TestSupport
import Testing

extension HardwareInTheLoop {
  /// NMEA 2000 on a virtual CAN bus of the kernel, with a plotter that this test plays.
  @Suite(.serialized, .enabled(if: Bench.isVirtual, "only the virtual bench has vcan0"), .timeLimit(.minutes(10)))
  struct NMEA2000Tests {
    /// A device on the bus that receives all frames.
    private final class Plotter {
      private let socket: LinuxCANSocket
      private(set) var frames: [CANFrame] = []

      init() throws(HardwareError) { socket = try LinuxCANSocket("vcan0", identifiers: [0], mask: 0) }

      func send(_ identifier: UInt32, _ bytes: [UInt8]) throws {
        #expect(try socket.send(CANFrame(identifier: identifier, bytes: bytes)))
      }

      /// Receives until the frames of an identifier meet a condition.
      func receives(_ identifier: UInt32, _ isMet: ([CANFrame]) -> Bool) throws -> Bool {
        try eventually {
          while let frame = try socket.receive() { frames.append(frame) }
          return isMet(frames.filter { $0.identifier == identifier })
        }
      }

      /// The content of the first complete fast packet of an identifier.
      func fastPacket(_ identifier: UInt32) -> [UInt8]? {
        let frames = frames.filter { $0.identifier == identifier }
        guard let first = frames.firstIndex(where: { $0.bytes[0] & 0x1F == 0 }) else { return nil }
        var bytes = Array(frames[first].bytes[2...])
        let count = Int(frames[first].bytes[1])
        for (number, frame) in frames[first...].enumerated().dropFirst() where bytes.count < count {
          guard frame.bytes[0] == frames[first].bytes[0] + UInt8(number) else { return nil }
          bytes += frame.bytes[1...]
        }
        return bytes.count >= count ? Array(bytes[..<count]) : nil
      }
    }

    private func number(_ bytes: ArraySlice<UInt8>) -> Int32 {
      Int32(truncatingIfNeeded: bytes.reversed().reduce(0 as Int64) { $0 << 8 | Int64($1) })
    }

    private func setInterface(_ state: String) {
      let program = Program(
        ["ip", "link", "set", "vcan0", state], path: "/usr/bin/env", environment: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"]
      )
      #expect(program.wait() == 0, "\(program.standardError)")
    }

    @Test func `a plotter on the kernel's bus reads the values, and the hub survives conflicts and a broken bus`()
      throws
    {
      let plotter = try Plotter()
      let hub = HubProcess(
        board: HubProcess.simulatedBoard("nmea2000: { interface: \"vcan0\", keepsAwake: true }"))
      #expect(try plotter.receives(0x18EE_FF3C) { !$0.isEmpty }, "\(hub.program.standardError)")
      #expect(try plotter.receives(0x09F8_013C) { !$0.isEmpty }, "\(hub.program.standardError)")
      let position = try #require(plotter.frames.last(where: { $0.identifier == 0x09F8_013C })?.bytes)
      try #require(position.count == 8)
      let (latitude, longitude) = (Double(number(position[..<4])) * 1e-7, Double(number(position[4...])) * 1e-7)
      #expect(abs(latitude - 52.5163) < 0.05 && abs(longitude - 13.3777) < 0.05, "\(latitude) \(longitude)")
      // A receiver's position has seven frames. Its method is 8 (simulated), or 0 before the first fix.
      #expect(try plotter.receives(0x0DF8_053C) { $0.count >= 14 })
      let receiver = try #require(plotter.fastPacket(0x0DF8_053C))
      #expect(receiver.count == 43 && [0x00, 0x80].contains(receiver[31]), "\(receiver)")
      #expect(try plotter.receives(0x0DF1_193C) { !$0.isEmpty }, "no attitude")

      try plotter.send(0x18EA_FF03, [0x14, 0xF0, 0x01])
      #expect(try plotter.receives(0x19F0_143C) { $0.count == 20 })
      let product = try #require(plotter.fastPacket(0x19F0_143C))
      #expect(product.count == 134 && Array(product[4..<13]) == Array("SensorHub".utf8))

      // The plotter has the lowest name, so the hub goes to the next address.
      try plotter.send(0x18EE_FF3C, [1, 0, 0, 0, 0, 0, 0, 0])
      #expect(try plotter.receives(0x09F8_013D) { !$0.isEmpty })
      #expect(hub.logs("values go to vcan0 from address 61"))

      setInterface("down")
      #expect(hub.logs("CAN interface vcan0 is down"))
      setInterface("up")
      #expect(
        hub.logs { $0.split(separator: "values go to vcan0 from address 60").count == 3 },
        "\(hub.program.standardError)")
      Bench.saw("\(plotter.frames.count) frames on vcan0; position \(latitude), \(longitude) from addresses 60 and 61")
      #expect(hub.stop() == 0)
    }
  }
}
