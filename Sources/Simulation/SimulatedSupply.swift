import Glibc
import Guarding
import MonotonicTime

/// A supply with some resistance of its own, behind a shunt, and what draws from it: the computer, which works more and less,
/// and whoever else says so.
public final class SimulatedSupply: Sendable {
  public let shuntOhms: Double
  private let openVolts: Double
  private let sourceOhms: Double
  private let amperes: Double
  private let swingAmperes: Double
  private let swingSeconds: Double
  private let clock: any MonotonicTimeSource
  private let loads: Guarded<Loads>

  /// What others draw, and have drawn.
  private struct Loads {
    var amperes: [String: Double] = [:]
    /// At what instants that changed, to what, and what charge had flowed by then; never empty.
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

  /// Nobody asks for the mean of what is longer ago.
  private static let memorySeconds = 60.0

  /// - Parameters:
  ///   - openVolts: while nothing is drawn
  ///   - amperes: what the computer draws, on average
  ///   - swingAmperes: by how much more or less that is, in turn
  ///   - swingSeconds: in what time it is so once
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

  /// What somebody draws from now on, beside what all others draw.
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

  /// Through the shunt.
  public func amperes(at instant: MonotonicInstant) -> Double {
    computer(from: instant, to: instant) + loads.withLock { $0.last(by: instant).amperes }
  }

  /// Behind the shunt, against ground.
  public func volts(at instant: MonotonicInstant) -> Double { volts(amperes: amperes(at: instant)) }

  /// The mean through the shunt, as a chip finds it that measures all the time.
  public func amperes(from start: MonotonicInstant, to end: MonotonicInstant) -> Double {
    guard end > start else { return amperes(at: end) }
    let coulombs = loads.withLock { $0.coulombs(by: end) - $0.coulombs(by: start) }
    return computer(from: start, to: end) + coulombs / end.seconds(since: start)
  }

  /// The mean behind the shunt.
  public func volts(from start: MonotonicInstant, to end: MonotonicInstant) -> Double {
    volts(amperes: amperes(from: start, to: end))
  }

  private func volts(amperes: Double) -> Double { openVolts - (sourceOhms + shuntOhms) * amperes }

  /// The mean of a sine is what it is in the middle, and less the longer one looks.
  private func computer(from start: MonotonicInstant, to end: MonotonicInstant) -> Double {
    let half = .pi / swingSeconds * end.seconds(since: start)
    let middle = 2 * .pi / swingSeconds * (Double(start.nanoseconds) * 1e-9) + half
    return amperes + swingAmperes * sin(middle) * (half > 1e-6 ? sin(half) / half : 1)
  }
}
