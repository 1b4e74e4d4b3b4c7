import Glibc
import MonotonicTime
import TestSupport

/// A month of uptime in minutes: repeats every event in the life of a hub, and checks whether anything accumulates.
///
/// The phases alternate in slices, a hundred for a whole month and fewer for a part of it, so that the effects of one
/// phase show in the others too. The first tenth is the warm-up. The CPU time of an event in the last tenth is
/// compared with that of a young hub in its second tenth, and the two hubs alternate. This is necessary because a
/// virtual processor may be slower by half for minutes, which then affects both. Resident memory is compared with the
/// old hub's own second tenth.
public struct Soak {
  /// The limits.
  public struct Bounds: Sendable {
    /// How much more CPU time an event of the last tenth may cost than in a young hub: a ratio minus one.
    public var cpuGrowth = 0.05
    /// How much the resident memory may grow; `nil` if the allocator keeps freed memory deliberately, as the
    /// sanitizers' allocators do.
    public var memoryBytes: Int? = 1 << 20
    /// The largest share of its stack that a thread may have used; `nil` if the compiler makes larger frames.
    public var stackShare: Double? = 0.25
    /// The time from SIGTERM to the end of the process.
    public var end = Duration.seconds(1)

    public init() {}
  }

  private let executable: String
  private let scale: Double
  private let bounds: Bounds
  private let slicesPerTenth: Int
  private let phases: [Phase]
  private let say: (String) -> Void

  /// - Parameters:
  ///   - executable: the `sensorhub` to run
  ///   - scale: 1 for a month
  ///   - phases: the kinds of events
  ///   - say: receives the progress, one line at a time
  public init(
    executable: String, scale: Double = 1, bounds: Bounds = Bounds(), phases: [Phase] = Phase.allCases,
    say: @escaping (String) -> Void = { _ in }
  ) {
    self.executable = executable
    self.scale = scale
    self.bounds = bounds
    self.phases = phases
    self.say = say
    // Each slice needs new clients and a short pause.
    slicesPerTenth = scale >= 0.5 ? 10 : scale >= 0.01 ? 3 : 1
  }

  /// The measurements of a slice.
  private struct Slice {
    /// The index since the start of the month.
    var index: Int
    var phase: Phase
    var events: Int
    var cpuSeconds: Double
    var residentBytes: Int
    var duration: Duration
  }

  /// The slices of one phase in one tenth.
  private struct Summary {
    /// The CPU seconds per event in the cheapest slice. Other activity of the machine only ever adds time, while
    /// growth affects all slices.
    var cpu: Double
    /// The median.
    var resident: Int

    init?(_ slices: some Sequence<Slice>, _ phase: Phase) {
      let slices = slices.filter { $0.phase == phase }
      guard let cheapest = slices.map({ $0.cpuSeconds / Double($0.events) }).min() else { return nil }
      cpu = cheapest
      resident = slices.map(\.residentBytes).sorted()[slices.count / 2]
    }

    /// Includes a later repetition.
    mutating func take(_ later: Summary?) {
      guard let later else { return }
      cpu = min(cpu, later.cpu)
      resident = later.resident
    }
  }

  public func run() throws -> Report {
    let hub = try startedHub()
    let before = hub.resources()
    let count = slicesPerTenth * 10
    let lastTenth = count - slicesPerTenth..<count
    var slices: [Slice] = []
    let start = MonotonicClock().now
    func live(_ index: Int, _ step: (Phase) throws -> Void) throws {
      for phase in phases { try step(phase) }
      guard (index + 1) % slicesPerTenth == 0 else { return }
      let tenth = (index + 1) / slicesPerTenth
      say("\(tenth * 10) % after \(Text.fixed((MonotonicClock().now - start).inSeconds, 0)) s")
    }
    for index in 0..<lastTenth.lowerBound { try live(index) { slices.append(try slice($0, index, of: hub)) } }
    say("a young hub begins: the last tenth takes three times as long")
    let young = try warmHub()
    var slicesOfYoung: [Slice] = []
    /// Runs a slice with both hubs. They take turns in going first.
    func both(_ phase: Phase, _ index: Int) throws -> (old: Slice, young: Slice) {
      if index % 2 == 0 {
        let other = try slice(phase, index, of: young)
        return (try slice(phase, index, of: hub), other)
      }
      return (try slice(phase, index, of: hub), try slice(phase, index, of: young))
    }
    for index in lastTenth {
      try live(index) { phase in
        let (old, young) = try both(phase, index)
        slices.append(old)
        slicesOfYoung.append(young)
      }
    }
    var rows: [Report.Row] = []
    for phase in phases {
      guard
        let early = Summary(slices.filter { $0.index / slicesPerTenth == 1 }, phase),
        var late = Summary(slices.filter { lastTenth.contains($0.index) }, phase),
        var beside = Summary(slicesOfYoung, phase)
      else { continue }
      var repetitions = 0
      // Other activity of the machine looks like growth too, but real growth does not disappear when the slice is
      // repeated. So the slice is repeated, and the cheapest run of each hub counts.
      while late.cpu > beside.cpu * (1 + bounds.cpuGrowth), repetitions < 3 {
        repetitions += 1
        let again = try lastTenth.map { try both(phase, $0) }
        late.take(Summary(again.map(\.old), phase))
        beside.take(Summary(again.map(\.young), phase))
      }
      rows.append(
        Report.Row(
          phase: phase, events: slices.filter { $0.phase == phase }.reduce(0) { $0 + $1.events },
          cpuSecondsBefore: early.cpu, cpuSecondsAfter: late.cpu, cpuSecondsOfYoung: beside.cpu,
          residentBytesBefore: early.resident, residentBytesAfter: late.resident, repetitions: repetitions,
          duration: slices.filter { $0.phase == phase }.reduce(.zero) { $0 + $1.duration }))
    }
    let after = hub.resources(noMoreThan: before)
    let stacks = hub.stacks()
    let end = try hub.end()
    let endOfYoung = try young.end()
    return Report(
      bounds: bounds, rows: rows, resourcesBefore: before, resourcesAfter: after, stacks: stacks,
      exitCode: end.code == 0 ? endOfYoung.code : end.code, endDuration: max(end.duration, endOfYoung.duration),
      errors: hub.complaints + young.complaints)
  }

  private func startedHub() throws -> SoakedHub {
    let hub = try SoakedHub(executable: executable)
    // Objects that are created once exist after this.
    for phase in phases { _ = try hub.live(through: phase, 2) }
    return hub
  }

  /// A hub that has completed its first tenth.
  private func warmHub() throws -> SoakedHub {
    let hub = try startedHub()
    for index in 0..<slicesPerTenth {
      for phase in phases { _ = try slice(phase, index, of: hub) }
    }
    return hub
  }

  private func slice(_ phase: Phase, _ index: Int, of hub: SoakedHub) throws -> Slice {
    let total = Double(phase.eventsInAMonth) * scale
    let slices = Double(slicesPerTenth * 10)
    // Rare events must occur in a short soak too.
    let events = max(1, Int(total * Double(index + 1) / slices) - Int(total * Double(index) / slices))
    let cost: Double
    let start = MonotonicClock().now
    do {
      cost = try hub.live(through: phase, events)
    } catch {
      let state = hub.death ?? "the hub still runs"
      throw Visitor.Failure(description: "\(phase), slice \(index + 1) of \(slicesPerTenth * 10): \(error)\n\(state)")
    }
    return Slice(
      index: index, phase: phase, events: events, cpuSeconds: cost, residentBytes: hub.residentBytes,
      duration: MonotonicClock().now - start)
  }
}

enum Text {
  static func fixed(_ value: Double, _ decimals: Int) -> String {
    var scale = 1.0
    for _ in 0..<decimals { scale *= 10 }
    let rounded = Int((value * scale).rounded().magnitude)
    let whole = "\(rounded / Int(scale))"
    let digits = "\(rounded % Int(scale))"
    let sign = value < 0 && rounded > 0 ? "-" : ""
    guard decimals > 0 else { return sign + whole }
    return sign + whole + "." + String(repeating: "0", count: decimals - digits.count) + digits
  }

  static func column(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }
}
