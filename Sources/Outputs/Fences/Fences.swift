import Guarding
import Hub
import MonotonicTime
import Publishing

/// The fences of the board file in service. Each is a subscription; looking at what they have found wakes nothing.
public final class Fences: Sendable {
  private let clock: any MonotonicTimeSource
  /// In the order of the board file.
  private let lookouts = Guarded<[FenceLookout]>([])
  private let latest = MutableProperty<[FenceStatus]>([])

  init(clock: any MonotonicTimeSource) { self.clock = clock }

  /// Of all fences, with each change of a state: the fixes between two changes tell nothing new.
  var changes: Property<[FenceStatus]> { latest.readOnly }

  /// The same with the last fix of each, and when the next one is due.
  var outlooks: [FenceOutlook] { lookouts.withLock { $0 }.map(\.outlook) }

  /// Watches the fences of a board, and no others from now on. Those that have not changed go on as they are.
  ///
  /// - Parameters:
  ///   - memory: of other runs
  ///   - report: told of each change of a state, with its event
  func follow(_ hub: Hub, memory: FenceMemory?, report: @escaping @Sendable (FenceStatus) -> Void) {
    // Not under the lock, which fixes wait for.
    let sides = memory?.sides(of: hub.board.fences) ?? [:]
    let (gone, new) = lookouts.withLock { present in
      let old = present
      var new: [FenceLookout] = []
      present = hub.board.fences.map { settings in
        if let same = old.first(where: { $0.settings == settings }) { return same }
        let lookout = FenceLookout(settings, rememberedSide: sides[settings.name], clock: clock) {
          [weak self] status in
          report(status)
          self?.tell()
          memory?.keep { [weak self] in self?.known ?? [] }
        }
        new.append(lookout)
        return lookout
      }
      let present = present
      return (old.filter { one in !present.contains { $0 === one } }, new)
    }
    for lookout in gone { lookout.end() }
    if !gone.isEmpty || !new.isEmpty { tell() }
    for lookout in new { lookout.begin(on: hub) }
  }

  func end() {
    let gone = lookouts.withLock { present in
      defer { present = [] }
      return present
    }
    for lookout in gone { lookout.end() }
  }

  private var known: [(settings: FenceSettings, status: FenceStatus)] {
    lookouts.withLock { $0 }.map { ($0.settings, $0.status) }
  }

  private func tell() {
    // Under the lock: of two that tell at once the later one has the last word.
    let mustDeliver = lookouts.withLock { latest.stage($0.map(\.status)) }
    if mustDeliver { latest.deliver() }
  }
}
