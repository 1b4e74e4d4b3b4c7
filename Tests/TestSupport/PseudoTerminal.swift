import CLinux
import Glibc

/// A pseudo-terminal whose far end the code under test opens as its serial port.
public final class PseudoTerminal {
  public let path: String
  private var controller: Int32

  public init() {
    var name = [CChar](repeating: 0, count: 128)
    controller = clinux_open_pseudo_terminal(&name, 128)
    precondition(controller >= 0, "cannot open a pseudo-terminal")
    path = name.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    // Nothing is read back, and written bytes must not be echoed.
    var settings = termios()
    tcgetattr(controller, &settings)
    cfmakeraw(&settings)
    tcsetattr(controller, TCSANOW, &settings)
  }

  deinit { hangUp() }

  /// Writes everything, like a receiver.
  public func write(_ text: String) { write(Array(text.utf8)) }

  public func write(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(controller, $0.baseAddress, $0.count) }
      precondition(count > 0, "the pseudo-terminal takes nothing")
      rest = rest.dropFirst(count)
    }
  }

  /// Writes the bytes for which there is room, for lines that nothing may be reading. The rest is lost.
  public func writeNow(_ text: String) {
    let flags = fcntl(controller, F_GETFL)
    _ = fcntl(controller, F_SETFL, flags | O_NONBLOCK)
    let bytes = Array(text.utf8)
    _ = bytes.withUnsafeBytes { Glibc.write(controller, $0.baseAddress, $0.count) }
    _ = fcntl(controller, F_SETFL, flags)
  }

  /// Returns the bytes that the far end has written, without waiting.
  public func readNow() -> [UInt8] {
    var wait = pollfd(fd: controller, events: Int16(POLLIN), revents: 0)
    var bytes = [UInt8](repeating: 0, count: 4096)
    guard poll(&wait, 1, 0) > 0 else { return [] }
    let count = read(controller, &bytes, bytes.count)
    return count > 0 ? Array(bytes[..<count]) : []
  }

  /// Whether the far end has read all written bytes. If the line is locked by another program, the answer is yes.
  public var isRead: Bool {
    let descriptor = open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return true }
    defer { close(descriptor) }
    var count: Int32 = 0
    return ioctl(descriptor, UInt(FIONREAD), &count) != 0 || count == 0
  }

  /// Hangs up the line, as if the cable had been pulled.
  public func hangUp() {
    guard controller >= 0 else { return }
    close(controller)
    controller = -1
  }
}
