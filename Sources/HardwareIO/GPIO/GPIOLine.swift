import MonotonicTime

/// The identity of a GPIO line: a chip by its label, name or path, and a line of the chip by name or offset.
///
/// A board file should name the chip by its label (`pinctrl-rp1`), because chip numbers change with the kernel and with
/// connected hardware.
public struct GPIOLineName: Hashable, Sendable, CustomStringConvertible {
  public var chip: String
  public var line: String

  public init(chip: String, line: String) {
    self.chip = chip
    self.line = line
  }

  public var description: String { "\(chip)/\(line)" }
}

/// A GPIO line used as an output. When it is closed, it is left at its safe level.
public protocol GPIOOutput: Sendable {
  /// Sets the logical level. The level of an active-low line is inverted on the way.
  func set(_ level: Bool) throws(HardwareError)
  /// Drives the line to its safe level, then releases it. A line that cannot be driven stays requested, so that a
  /// released line never floats at the wrong level; the caller may call this again. At the latest, the line is released
  /// with the last reference to it.
  func close() throws(HardwareError)
}

/// An edge of a GPIO line, recorded by the kernel.
public struct GPIOEdge: Equatable, Sendable {
  /// When the edge occurred. The kernel's interrupt handler takes this time.
  public var at: MonotonicInstant
  public var isRising: Bool
  /// The number of the edge on its line, which also counts lost edges; 0 if the kernel interface does not number edges.
  public var sequence: UInt64

  public init(at instant: MonotonicInstant, isRising: Bool, sequence: UInt64) {
    at = instant
    self.isRising = isRising
    self.sequence = sequence
  }
}

/// A GPIO line used as an input. The kernel queues its edges with their time stamps.
public protocol GPIOEdgeInput: Sendable {
  /// The file descriptor for `poll`. It is readable while edges wait.
  var fileDescriptor: Int32 { get }
  /// Removes all waiting edges, of which the kernel queues up to 16. Returns the latest edge and the number of removed
  /// edges, or `nil` if no edge waits.
  func takeEdges() throws(HardwareError) -> (latest: GPIOEdge, count: Int)?
  func close()
}
