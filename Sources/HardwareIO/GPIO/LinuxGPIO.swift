import CGPIOD
import CLinux
import Glibc
import Guarding
import MonotonicTime

/// A GPIO line used as an output, through libgpiod.
public final class LinuxGPIOOutput: GPIOOutput {
  private let name: GPIOLineName
  private let safeLevel: Bool
  private let line: Guarded<LineHandle>

  public init(_ name: GPIOLineName, activeLow: Bool, safeLevel: Bool) throws(HardwareError) {
    self.name = name
    self.safeLevel = safeLevel
    let (chip, offset) = try LineHandle.locate(name)
    var handle: OpaquePointer?
    let result = cgpiod_open_output(chip, offset, activeLow, safeLevel, "sensorhub", &handle)
    guard result == 0 else { throw LineHandle.error(name, -result) }
    line = Guarded(LineHandle(pointer: handle))
  }

  deinit {
    try? close()
    line.withLock { line in
      cgpiod_close(line.pointer)
      line.pointer = nil
    }
  }

  public func set(_ level: Bool) throws(HardwareError) {
    let result = line.withLock { line in
      line.pointer == nil ? -EBADF : cgpiod_set(line.pointer, level)
    }
    if result < 0 { throw LineHandle.error(name, -result) }
  }

  public func close() throws(HardwareError) {
    let result = line.withLock { line -> Int32 in
      guard line.pointer != nil else { return 0 }
      // With some kernels a released line keeps its level; with other kernels it floats. The line is therefore set to
      // its safe level first.
      let result = cgpiod_set(line.pointer, safeLevel)
      if result < 0 { return result }
      cgpiod_close(line.pointer)
      line.pointer = nil
      return result
    }
    if result < 0 { throw LineHandle.error(name, -result) }
  }
}

/// A GPIO line used as an input, through libgpiod.
public final class LinuxGPIOEdges: GPIOEdgeInput {
  public let fileDescriptor: Int32
  private let name: GPIOLineName
  private let line: Guarded<LineHandle>

  public init(_ name: GPIOLineName, rising: Bool, falling: Bool) throws(HardwareError) {
    self.name = name
    let (chip, offset) = try LineHandle.locate(name)
    var handle: OpaquePointer?
    let result = cgpiod_open_edges(chip, offset, rising, falling, "sensorhub", &handle)
    guard result == 0 else { throw LineHandle.error(name, -result) }
    let descriptor = cgpiod_descriptor(handle)
    guard descriptor >= 0 else {
      cgpiod_close(handle)
      throw LineHandle.error(name, -descriptor)
    }
    line = Guarded(LineHandle(pointer: handle))
    fileDescriptor = descriptor
  }

  deinit { close() }

  public func takeEdges() throws(HardwareError) -> (latest: GPIOEdge, count: Int)? {
    var edges = InlineArray<16, cgpiod_edge>(repeating: cgpiod_edge())
    var wait = pollfd(fd: fileDescriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&wait, 1, 0) > 0 else { return nil }
    let count = line.withLock { line in
      line.pointer == nil
        ? -EBADF
        : withUnsafeMutablePointer(to: &edges) { pointer in
          pointer.withMemoryRebound(to: cgpiod_edge.self, capacity: 16) {
            cgpiod_read_edges(line.pointer, $0, 16)
          }
        }
    }
    if count < 0 { throw LineHandle.error(name, -count) }
    if count == 0 { return nil }
    let latest = edges[Int(count) - 1]
    return (
      GPIOEdge(
        at: MonotonicInstant(nanoseconds: latest.timestamp_ns), isRising: latest.rising, sequence: latest.sequence),
      Int(count)
    )
  }

  public func close() {
    line.withLock { line in
      cgpiod_close(line.pointer)
      line.pointer = nil
    }
  }
}

/// A line object of the C library.
struct LineHandle: @unchecked Sendable {
  // Unchecked, and safe: the library allows use of a line from any thread, one at a time, and each handle lives in a
  // `Guarded`.
  var pointer: OpaquePointer?

  static func locate(_ name: GPIOLineName) throws(HardwareError) -> (chip: String, offset: UInt32) {
    let path: Result<String, HardwareError> = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 300) { buffer in
      let result = cgpiod_find_chip(name.chip, buffer.baseAddress, 300)
      guard result == 0, let base = buffer.baseAddress else {
        return .failure(noChip(name.chip, -result))
      }
      return .success(String(cString: base))
    }
    let chip = try path.get()
    if let offset = UInt32(name.line) { return (chip, offset) }
    let offset = cgpiod_find_line(chip, name.line)
    if offset < 0 { throw error(name, -offset) }
    return (chip, UInt32(offset))
  }

  /// Makes the error for a chip that cannot be opened. Chip labels differ between boards, so the message lists the
  /// existing labels.
  private static func noChip(_ chip: String, _ errno: Int32) -> HardwareError {
    let error = HardwareError.opening("GPIO chip '\(chip)'", errno, group: "gpio")
    guard case .notFound = error else { return error }
    let present = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1000) { buffer in
      guard let base = buffer.baseAddress, cgpiod_list_chips(base, 1000) == 0 else { return "" }
      return String(cString: base)
    }
    return .notFound(
      "GPIO chip '\(chip)'" + (present.isEmpty ? ", and this machine has no other chip" : " among \(present)"), .gpio)
  }

  static func error(_ name: GPIOLineName, _ errno: Int32) -> HardwareError {
    errno == EINVAL
      ? .notFound("GPIO line \(name)", .gpio) : .opening("GPIO line \(name)", errno, group: "gpio", missing: .gpio)
  }
}
