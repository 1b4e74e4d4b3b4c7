import Guarding
import HardwareIO
import MonotonicTime
import Simulation

/// Raises the data-ready line briefly each time the chip has a sample ready.
///
/// The wire leads to three inputs and reaches them one after another: a witness, the one that the hub reads, and a
/// second witness. The kernel's timestamps of the two witnesses enclose the hub's.
public final class DataReadyDriver: Sendable {
  private let stamps = Guarded([ClosedRange<MonotonicInstant>]())
  private let end = StopSignal()
  private let hasEnded = StopSignal()

  init(imu: SimulatedMPU6050, chip: GPIOSimulator) throws(HardwareError) {
    let witnesses = try VirtualBoard.witnesses.map { (name) throws(HardwareError) in
      try LinuxGPIOEdges(GPIOLineName(chip: chip.label, line: name), rising: true, falling: false)
    }
    let lines = [VirtualBoard.witnesses[0], VirtualBoard.dataReady, VirtualBoard.witnesses[1]]
    let clock = MonotonicClock()
    let (end, hasEnded) = (end, hasEnded)
    let error = DetachedThread.start("data ready") { [weak self] in
      defer {
        for witness in witnesses { witness.close() }
        hasEnded.set()
      }
      let poller = Poller(stop: end.fileDescriptor)
      var last: MonotonicInstant?
      while !end.isSet {
        let next = imu.nextSample(after: max(last ?? clock.now, clock.now.advanced(by: .milliseconds(-1))))
        // While the chip sleeps there is nothing to do. It is checked again early enough for its first sample.
        let wait = next.map { $0 - clock.now } ?? .milliseconds(2)
        if wait > .zero, poller.wait(for: nil, atMost: wait) == .stopped { return }
        guard let next else { continue }
        last = next
        for line in lines { chip.drive(line, true) }
        // The kernel timestamps edges in an interrupt, usually within microseconds, but up to one timer tick later.
        let edges = witnesses.compactMap { witness in
          poller.wait(for: witness.fileDescriptor, atMost: .milliseconds(50)) == .readable
            ? (try? witness.takeEdges())?.latest.at : nil
        }
        if edges.count == 2, edges[0] <= edges[1] { self?.stamps.withLock { $0.append(edges[0]...edges[1]) } }
        for line in lines { chip.drive(line, false) }
      }
    }
    precondition(error == 0, "cannot start a thread for the data-ready line")
  }

  deinit { end.set() }

  /// Releases the lines. After this returns, they can be opened again.
  public func stop() {
    end.set()
    _ = Poller(stop: hasEnded.fileDescriptor).wait(for: nil, atMost: .seconds(5))
  }

  /// The intervals in which the line rose, from the kernel's timestamps; usually microseconds long.
  public var rises: [ClosedRange<MonotonicInstant>] { stamps.withLock { $0 } }
}
