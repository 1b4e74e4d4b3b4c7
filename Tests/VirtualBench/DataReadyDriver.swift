import Guarding
import HardwareIO
import MonotonicTime
import Simulation

/// Raises the data-ready line for a moment whenever the chip has a sample ready.
///
/// The wire leads to two inputs: the one that the hub reads, and a witness, whose edges tell how the kernel stamped them.
public final class DataReadyDriver: Sendable {
  private let stamps = Guarded([MonotonicInstant]())
  private let end = StopSignal()

  init(imu: SimulatedMPU6050, chip: GPIOSimulator) throws(HardwareError) {
    let witness = try LinuxGPIOEdges(
      GPIOLineName(chip: chip.label, line: VirtualBoard.witness), rising: true, falling: false)
    let clock = MonotonicClock()
    let end = end
    let error = DetachedThread.start("data ready") { [weak self] in
      defer { witness.close() }
      let poller = Poller(stop: end.fileDescriptor)
      var last: MonotonicInstant?
      while !end.isSet {
        let next = imu.nextSample(after: max(last ?? clock.now, clock.now.advanced(by: .milliseconds(-1))))
        // While the chip sleeps there is nothing to do; soon enough for its first sample it is looked at again.
        let wait = next.map { $0 - clock.now } ?? .milliseconds(2)
        if wait > .zero, poller.wait(for: nil, atMost: wait) == .stopped { return }
        guard let next else { continue }
        last = next
        for line in [VirtualBoard.dataReady, VirtualBoard.witness] { chip.drive(line, true) }
        // The kernel stamps both in one interrupt, up to a tick of its timer later.
        guard poller.wait(for: witness.fileDescriptor, atMost: .milliseconds(50)) == .readable else { continue }
        if let edge = (try? witness.takeEdges())?.latest { self?.stamps.withLock { $0.append(edge.at) } }
        for line in [VirtualBoard.dataReady, VirtualBoard.witness] { chip.drive(line, false) }
      }
    }
    precondition(error == 0, "no thread for the data-ready line")
  }

  deinit { stop() }

  public func stop() { end.set() }

  /// When the line rose, by the kernel's stamps.
  public var rises: [MonotonicInstant] { stamps.withLock { $0 } }
}
