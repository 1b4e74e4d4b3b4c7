import Guarding
import HardwareIO
import MonotonicTime

/// The interrupt line of a simulated chip. Any number of readers can open it for its edges.
public final class SimulatedInterrupt: Sendable {
  private struct State {
    var isHigh = false
    var sequence: UInt64 = 0
    var ends: [SimulatedEdges] = []
  }

  private let state = Guarded(State())

  public init() {}

  /// Whether any reader has the line open.
  var isOpen: Bool { state.withLock { !$0.ends.isEmpty } }

  public var isHigh: Bool { state.withLock { $0.isHigh } }

  func set(_ isHigh: Bool, at instant: MonotonicInstant) {
    state.withLock { state in
      guard state.isHigh != isHigh else { return }
      state.isHigh = isHigh
      state.sequence += 1
      let edge = GPIOEdge(at: instant, isRising: isHigh, sequence: state.sequence)
      for end in state.ends { end.receive(edge) }
    }
  }

  public func edges(falling: Bool) -> any GPIOEdgeInput {
    let end = SimulatedEdges(of: self, falling: falling)
    state.withLock { $0.ends.append(end) }
    return end
  }

  fileprivate func close(_ end: SimulatedEdges) { state.withLock { $0.ends.removeAll { $0 === end } } }
}

/// The edges in one direction, as delivered to one reader.
private final class SimulatedEdges: GPIOEdgeInput {
  private struct Queue {
    var latest: GPIOEdge?
    var count = 0
  }

  private let interrupt: SimulatedInterrupt
  private let isFalling: Bool
  private let wake = WakeSignal()
  private let queue = Guarded(Queue())

  var fileDescriptor: Int32 { wake.fileDescriptor }

  init(of interrupt: SimulatedInterrupt, falling: Bool) {
    self.interrupt = interrupt
    isFalling = falling
  }

  func receive(_ edge: GPIOEdge) {
    guard edge.isRising != isFalling else { return }
    queue.withLock { queue in
      queue.latest = edge
      queue.count += 1
      wake.raise()
    }
  }

  func takeEdges() -> (latest: GPIOEdge, count: Int)? {
    queue.withLock { queue in
      wake.clear()
      defer { queue = Queue() }
      return queue.latest.map { ($0, queue.count) }
    }
  }

  func close() { interrupt.close(self) }
}
