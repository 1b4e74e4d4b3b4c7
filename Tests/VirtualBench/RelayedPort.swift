import CLinux
import Glibc
import Guarding
import HardwareIO

/// A serial port with the output buffer of a UART, between a program and a device on a pseudo-terminal.
///
/// It requires the kernel module `port-relay`, whose source describes the port. There is one port.
public final class RelayedPort: Sendable {
  public let path = "/dev/ttyRELAY0"
  /// The program's end of the device's pseudo-terminal.
  private let device: Int32
  private let control: Int32
  private let stop = StopSignal()
  private let isBlocked = Guarded(false)
  private let changed = WakeSignal()

  /// - Parameters:
  ///   - terminal: the path of the device's pseudo-terminal
  ///   - speed: the speed of the device in bits per second, whatever the port's is
  public init(to terminal: String, speed: speed_t) throws(HardwareError) {
    device = open(terminal, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
    guard device >= 0 else { throw .system("opening \(terminal)", errno: Glibc.errno) }
    control = open("/dev/port-relay", O_RDWR | O_NONBLOCK | O_CLOEXEC)
    guard control >= 0 else { throw .system("opening /dev/port-relay", errno: Glibc.errno) }
    var settings = termios()
    tcgetattr(device, &settings)
    cfmakeraw(&settings)
    cfsetspeed(&settings, speed)
    tcsetattr(device, TCSANOW, &settings)
    guard DetachedThread.start("from device", { self.receive() }) == 0,
      DetachedThread.start("to device", { self.send() }) == 0
    else { throw .system("starting a thread", errno: EAGAIN) }
  }

  /// Blocks the port's output, as a device does with its flow control. The port still receives. Once this returns, no
  /// further byte leaves the port.
  public func setBlocked(_ isBlocked: Bool) {
    self.isBlocked.withLock { $0 = isBlocked }
    changed.raise()
  }

  private func receive() {
    let poller = Poller(stop: stop.fileDescriptor)
    var bytes = [UInt8](repeating: 0, count: 4096)
    while poller.wait(for: device) == .readable {
      let count = read(device, &bytes, bytes.count)
      if count > 0 { _ = write(control, bytes, count) } else if count == 0 || errno != EAGAIN { return }
    }
  }

  private func send() {
    let poller = Poller(stop: stop.fileDescriptor)
    var bytes = [UInt8](repeating: 0, count: 4096)
    while true {
      // The signal alone ends the wait while the port is blocked.
      let source = isBlocked.withLock { $0 } ? -1 : control
      switch poller.wait(for: source, or: changed) {
      case .readable:
        // The port may have been blocked since this thread began to wait.
        isBlocked.withLock { isBlocked in
          if isBlocked { return }
          let count = read(control, &bytes, bytes.count)
          if count > 0 { _ = write(device, bytes, count) }
        }
      case nil: continue
      case .stopped, .timedOut: return
      }
    }
  }
}
