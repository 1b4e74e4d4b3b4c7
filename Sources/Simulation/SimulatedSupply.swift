import Glibc
import Guarding
import MonotonicTime

/// A supply with an internal resistance, a shunt after it, and the loads: the computer, whose current varies, and any
/// other loads.
public final class SimulatedSupply: Sendable {
  public let shuntOhms: Double
  private let openVolts: Double
  private let sourceOhms: Double
  private let amperes: Double
  private let swingAmperes: Double
  private let swingSeconds: Double
  private let clock: any MonotonicTimeSource
  private let loads: Guarded<Loads>

  /// The present and past currents of the other loads.
  private struct Loads {
    var amperes: [String: Double] = [:]
    /// The instants at which the current changed, the value from then on, and the charge until then. Never empty.
    var changes: [Change]

    func last(by instant: MonotonicInstant) -> Change { changes.last { $0.at <= instant } ?? changes[0] }

    func coulombs(by instant: MonotonicInstant) -> Double {
      let change = last(by: instant)
      return change.coulombs + change.amperes * instant.seconds(since: change.at)
    }
  }

  private struct Change {
    var at: MonotonicInstant
    var amperes: Double
    var coulombs: Double
  }

  /// How far back averages can be computed. No chip computes an average over more than this time.
  private static let memorySeconds = 60.0

  /// - Parameters:
  ///   - openVolts: the voltage without load
  ///   - amperes: the mean current of the computer
  ///   - swingAmperes: the amplitude of the variation of this current
  ///   - swingSeconds: the period of the variation
  public init(
    clock: any MonotonicTimeSource = MonotonicClock(), openVolts: Double = 5.1, sourceOhms: Double = 0.05,
    shuntOhms: Double = 0.1, amperes: Double = 0.5, swingAmperes: Double = 0.15, swingSeconds: Double = 60
  ) {
    self.clock = clock
    self.openVolts = openVolts
    self.sourceOhms = sourceOhms
    self.shuntOhms = shuntOhms
    self.amperes = amperes
    self.swingAmperes = swingAmperes
    self.swingSeconds = swingSeconds
    loads = Guarded(Loads(changes: [Change(at: clock.now, amperes: 0, coulombs: 0)]))
  }

  /// Sets the current of one load from now on. Other loads are unchanged.
  public func load(_ id: String, amperes: Double) {
    let now = clock.now
    loads.withLock { loads in
      let coulombs = loads.coulombs(by: now)
      loads.amperes[id] = amperes
      loads.changes.append(
        Change(at: now, amperes: loads.amperes.values.reduce(0, +), coulombs: coulombs))
      while loads.changes.count > 1, now.seconds(since: loads.changes[1].at) > SimulatedSupply.memorySeconds {
        loads.changes.removeFirst()
      }
    }
  }

  /// The current through the shunt.
  public func amperes(at instant: MonotonicInstant) -> Double {
    computer(from: instant, to: instant) + loads.withLock { $0.last(by: instant).amperes }
  }

  /// The voltage after the shunt, against ground.
  public func volts(at instant: MonotonicInstant) -> Double { volts(amperes: amperes(at: instant)) }

  /// The mean current through the shunt, as a continuously measuring chip reports it.
  public func amperes(from start: MonotonicInstant, to end: MonotonicInstant) -> Double {
    guard end > start else { return amperes(at: end) }
    let coulombs = loads.withLock { $0.coulombs(by: end) - $0.coulombs(by: start) }
    return computer(from: start, to: end) + coulombs / end.seconds(since: start)
  }

  /// The mean voltage after the shunt.
  public func volts(from start: MonotonicInstant, to end: MonotonicInstant) -> Double {
    volts(amperes: amperes(from: start, to: end))
  }

  private func volts(amperes: Double) -> Double { openVolts - (sourceOhms + shuntOhms) * amperes }

  /// The mean current of the computer. The mean of a sine over an interval is its value at the centre times a factor
  /// that falls with the length of the interval.
  private func computer(from start: MonotonicInstant, to end: MonotonicInstant) -> Double {
    let half = .pi / swingSeconds * end.seconds(since: start)
    let middle = 2 * .pi / swingSeconds * (Double(start.nanoseconds) * 1e-9) + half
    return amperes + swingAmperes * sin(middle) * (half > 1e-6 ? sin(half) / half : 1)
  }
}
