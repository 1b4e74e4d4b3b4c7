import CLinux
import Glibc
import Guarding
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

/// Reads what programs write to a simulated receiver, on its own thread.
final class ReceiverListener: Sendable {
  private let input: Int32
  private let stop: StopSignal
  private let onBytes: @Sendable ([UInt8]) -> Void

  /// - Parameter input: closed when the thread ends
  init(input: Int32, stop: StopSignal, onBytes: @escaping @Sendable ([UInt8]) -> Void) {
    self.input = input
    self.stop = stop
    self.onBytes = onBytes
  }

  /// Starts the thread. Returns `false` if the system cannot start another thread.
  func start() -> Bool {
    if DetachedThread.start("simulated rx", { self.run() }) == 0 { return true }
    close(input)
    return false
  }

  private func run() {
    defer { close(input) }
    let poller = Poller(stop: stop.fileDescriptor)
    var chunk = [UInt8](repeating: 0, count: 4096)
    while poller.wait(for: input) == .readable {
      let count = chunk.withUnsafeMutableBytes { read(input, $0.baseAddress, $0.count) }
      if count > 0 {
        onBytes(Array(chunk[..<count]))
      } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
        return
      }
    }
  }
}
