import Guarding
import HardwareIO
import MonotonicTime
import Simulation

/// Leads the interrupt of a simulated chip to an input of the kernel's, and before that to another one, a witness, whose edges the
/// kernel stamps as it does the hub's.
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
        // What has risen again before this looked is to rise at the other end too.
        if (try? falls.takeEdges()) != nil { for line in [witness, line] { chip.drive(line, false) } }
        let isHigh = interrupt.isHigh
        for line in [witness, line] { chip.drive(line, isHigh) }
        // The kernel stamps it in an interrupt, up to a tick of its timer later.
        if isHigh, poller.wait(for: seen.fileDescriptor, atMost: .milliseconds(50)) == .readable,
          let edge = try? seen.takeEdges()
        {
          self?.stamps.withLock { $0.append(edge.latest.at) }
        }
      }
    }
    precondition(error == 0, "no thread for the interrupt")
  }

  deinit { end.set() }

  /// When the line rose, by the kernel's stamps.
  public var rises: [MonotonicInstant] { stamps.withLock { $0 } }
}
