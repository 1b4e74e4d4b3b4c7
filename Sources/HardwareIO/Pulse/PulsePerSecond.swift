import CLinux
import Glibc

/// A receiver's pulse at the beginning of each second, as stamped by the kernel: `/dev/pps0`.
public final class PulsePerSecond: Sendable {
  private let descriptor: Int32

  public init(_ path: String) throws(HardwareError) {
    let descriptor = open(path, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { throw .opening("pulse source \(path)", errno, group: "dialout") }
    guard clinux_pps_last(descriptor) != -Int64(ENOTTY) else {
      close(descriptor)
      throw .unsupported("\(path) is not a pulse source")
    }
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// The system time at the last pulse, in nanoseconds since 1970; `nil` before the first pulse.
  public var lastNanosecondsSince1970: Int64? {
    let stamp = clinux_pps_last(descriptor)
    return stamp > 0 ? stamp : nil
  }
}
