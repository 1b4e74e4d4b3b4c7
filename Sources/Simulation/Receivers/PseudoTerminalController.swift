import CLinux
import Glibc
import HardwareIO

/// The end of a pseudo-terminal that belongs to the simulated device. Programs open the other end.
enum PseudoTerminalController {
  /// Opens a new pseudo-terminal. Returns the descriptor and the path of the other end.
  static func open() throws(HardwareError) -> (descriptor: Int32, path: String) {
    var path = InlineArray<64, CChar>(repeating: 0)
    let controller = withUnsafeMutablePointer(to: &path) {
      $0.withMemoryRebound(to: CChar.self, capacity: 64) { clinux_open_pseudo_terminal($0, 64) }
    }
    guard controller >= 0 else { throw .system("creating a pseudo-terminal", errno: -controller) }
    let name = withUnsafePointer(to: &path) {
      $0.withMemoryRebound(to: CChar.self, capacity: 64) { String(cString: $0) }
    }
    return (controller, name)
  }

  /// The speed set at the other end, in bits per second. A pseudo-terminal itself transfers bytes at any speed.
  static func speed(of controller: Int32) -> Int? {
    var settings = termios()
    guard tcgetattr(controller, &settings) == 0 else { return nil }
    let speed = cfgetospeed(&settings)
    return speeds.first { candidate in speed_t(candidate.constant) == speed }?.bits
  }

  /// Whether the bytes fit into the buffer that is flushed when the port is opened. Further bytes would wait
  /// elsewhere and arrive late.
  static func hasRoom(for count: Int, at device: Int32) -> Bool {
    var waiting: Int32 = 0
    guard ioctl(device, UInt(FIONREAD), &waiting) == 0 else { return false }
    return Int(waiting) + count < lineBuffer
  }

  /// The buffer size of the kernel's terminals in bytes.
  private static let lineBuffer = 4096

  private static let speeds: [(constant: Int32, bits: Int)] = [
    (B4800, 4800), (B9600, 9600), (B19200, 19200), (B38400, 38400), (B57600, 57600), (B115200, 115_200),
    (B230400, 230_400), (B460800, 460_800), (B921600, 921_600),
  ]
}
