import CLinux
import Glibc
import HardwareIO
import TestSupport
import Testing

extension HardwareInTheLoop {
  /// PPS pulses that a timer in the kernel generates.
  @Suite(
    .serialized, .timeLimit(.minutes(10)),
    .enabled(if: Bench.isVirtual || access("/dev/pps0", F_OK) == 0, "there is no /dev/pps0"))
  struct ClockTests {
    @Test func `chronyd gets the time at which the kernel saw the pulse`() throws {
      let path = "/tmp/sensorhub-pulse-\(getpid()).sock"
      let chronyd = DatagramSocket(path)
      let board = HubProcess.simulatedBoard("chrony: { socket: \"\(path)\" }")
      let hub = HubProcess(board: board.replacing("gps: {", with: "gps: { pps: \"/dev/pps0\","))
      var sample: [UInt8] = []
      var stamps: Set<String> = []
      #expect(
        eventually {
          stamps.insert(kernelStamp)
          guard let next = chronyd.next() else { return false }
          stamps.insert(kernelStamp)
          sample = next
          return true
        }, "\(hub.program.standardError)")
      #expect(sample.count == 40)
      let (seconds, microseconds) = sample.withUnsafeBytes {
        ($0.load(as: Int64.self), $0.load(fromByteOffset: 8, as: Int64.self))
      }
      let stamp = "\(seconds).\(String(1_000_000 + microseconds).dropFirst())"
      #expect(stamps.contains { $0.hasPrefix(stamp) }, "\(stamp) is none of \(stamps)")
      Bench.saw("the pulse at \(stamp), as the kernel has it")
      #expect(hub.stop() == 0)
      unlink(path)
    }

    /// For example `1795272357.123456789`.
    private var kernelStamp: String {
      let bytes = (try? Files.bytes(of: "/sys/class/pps/pps0/assert")) ?? []
      return String(String(decoding: bytes, as: UTF8.self).prefix { $0 != "#" })
    }
  }
}
