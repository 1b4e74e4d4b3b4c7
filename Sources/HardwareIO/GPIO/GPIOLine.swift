import MonotonicTime

/// The identity of a line: a chip by its label, name or path, and a line of it by name or offset.
///
/// Chips are best named by label (`pinctrl-rp1`): their numbers change with the kernel and with connected hardware.
public struct GPIOLineName: Hashable, Sendable, CustomStringConvertible {
  public var chip: String
  public var line: String

  public init(chip: String, line: String) {
    self.chip = chip
    self.line = line
  }

  public var description: String { "\(chip)/\(line)" }
}

/// An output. It is released at its safe level.
public protocol GPIOOutput: Sendable {
  /// - Parameter level: the logical level; active-low lines are inverted on the way
  func set(_ level: Bool) throws(HardwareError)
  /// Drives the safe level, then releases the line. A line that cannot be driven stays requested, so that a released line never
  /// floats at the wrong level: call this again. The line is released at the latest when the last reference goes.
  func close() throws(HardwareError)
}

/// An edge that the kernel saw.
public struct GPIOEdge: Equatable, Sendable {
  /// Stamped by the kernel, in the interrupt.
  public var at: MonotonicInstant
  public var isRising: Bool
  /// Counts the line's edges, lost ones included; 0 where the kernel interface does not number them.
  public var sequence: UInt64

  public init(at instant: MonotonicInstant, isRising: Bool, sequence: UInt64) {
    at = instant
    self.isRising = isRising
    self.sequence = sequence
  }
}

/// An input whose edges are queued with their time stamps.
public protocol GPIOEdgeInput: Sendable {
  /// For `poll`: readable while edges wait.
  var fileDescriptor: Int32 { get }
  /// Takes the latest of the edges that wait, and how many there were; the kernel queues 16.
  func takeEdges() throws(HardwareError) -> (latest: GPIOEdge, count: Int)?
  func close()
}
