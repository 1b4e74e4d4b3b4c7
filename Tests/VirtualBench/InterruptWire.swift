import Guarding
import HardwareIO
import MonotonicTime
import Simulation

/// Connects the interrupt of a simulated chip to a kernel input. The edge first reaches another input, a witness,
/// which the kernel timestamps in the same way as the hub's.
public final class InterruptWire: Sendable {
  private let stamps = Guarded([MonotonicInstant]())
  private let end = StopSignal()

  public init(
    from interrupt: SimulatedInterrupt, to line: String, witness: String, of chip: GPIOSimulator
  ) throws(HardwareError) {
    let seen = try LinuxGPIOEdges(GPIOLineName(chip: chip.label, line: witness), rising: true, falling: false)
    let (rises, falls) = (interrupt.edges(falling: false), interrupt.edges(falling: true))
    let end = end
    let error = DetachedThread.start("interrupt") { [weak self] in
      defer {
        for edges in [rises, falls] { edges.close() }
        seen.close()
      }
      let poller = Poller(stop: end.fileDescriptor)
      while poller.wait(for: rises.fileDescriptor, or: falls.fileDescriptor) == .readable {
        _ = try? rises.takeEdges()
        // An interrupt that fell and rose again in the meantime must rise at the other end too.
        if (try? falls.takeEdges()) != nil { for line in [witness, line] { chip.drive(line, false) } }
        let isHigh = interrupt.isHigh
        for line in [witness, line] { chip.drive(line, isHigh) }
        // The kernel timestamps edges in an interrupt, up to one timer tick later.
        if isHigh, poller.wait(for: seen.fileDescriptor, atMost: .milliseconds(50)) == .readable,
          let edge = try? seen.takeEdges()
        {
          self?.stamps.withLock { $0.append(edge.latest.at) }
        }
      }
    }
    precondition(error == 0, "cannot start a thread for the interrupt")
  }

  deinit { end.set() }

  /// When the line rose, from the kernel's timestamps.
  public var rises: [MonotonicInstant] { stamps.withLock { $0 } }
}
