import Glibc
import Guarding
import HardwareIO

/// The kernel's own record of what programs do with some lines of a GPIO chip: each request, release and change.
///
/// Unlike a history of levels it misses no change, however short. The kernel queues 32 events until `take`.
public final class LineRequests: Sendable {
  public enum Event: UInt32, Sendable {
    case requested = 1
    case released = 2
    case changed = 3
  }

  /// The layout of the kernel's structures, `gpio_v2_line_info` and `gpio_v2_line_info_changed`.
  private enum Layout {
    static let info = 256
    static let offset = 64
    static let type = 264
    static let changed = 288
  }

  /// The request GPIO_V2_GET_LINEINFO_WATCH_IOCTL.
  private static let watchRequest: UInt = 0xC100_B406

  private let descriptor: Int32
  private let names: [String]
  private let events = Guarded<[String: [Event]]>([:])

  /// - Parameters:
  ///   - chip: the device, for example `/dev/gpiochip0`
  ///   - lines: the names, by offset
  public init(of chip: String, lines: [String]) throws(HardwareError) {
    descriptor = open(chip, O_RDWR | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw .system("opening \(chip)", errno: errno) }
    names = lines
    for offset in lines.indices {
      let info = UnsafeMutableRawBufferPointer.allocate(byteCount: Layout.info, alignment: 8)
      defer { info.deallocate() }
      info.initializeMemory(as: UInt8.self, repeating: 0)
      info.storeBytes(of: UInt32(offset), toByteOffset: Layout.offset, as: UInt32.self)
      guard let base = info.baseAddress, ioctl(descriptor, LineRequests.watchRequest, base) == 0 else {
        throw .system("watching line \(offset) of \(chip)", errno: errno)
      }
    }
  }

  deinit { close(descriptor) }

  /// The events of a line since the last call.
  public func take(_ line: String) -> [Event] {
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: Layout.changed, alignment: 8)
    defer { bytes.deallocate() }
    return events.withLock { events in
      // The kernel passes on whole events only.
      while read(descriptor, bytes.baseAddress, bytes.count) == bytes.count {
        let offset = Int(bytes.load(fromByteOffset: Layout.offset, as: UInt32.self))
        guard let event = Event(rawValue: bytes.load(fromByteOffset: Layout.type, as: UInt32.self)) else { continue }
        if names.indices.contains(offset) { events[names[offset], default: []].append(event) }
      }
      return events.removeValue(forKey: line) ?? []
    }
  }
}
