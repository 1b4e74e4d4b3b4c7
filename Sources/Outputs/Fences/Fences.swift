import Guarding
import Hub
import MonotonicTime
import Publishing

/// The fences of the board file in service, and those that were added while the hub runs. Each is a subscription; looking at what they
/// have found wakes nothing.
///
/// Which there are is decided under the lock. What watches them begins and ends without it, as fixes wait for the lock.
public final class Fences: Sendable {
  /// What the service of the fences brings.
  private final class Service: Sendable {
    let memory: FenceMemory?
    let file: AddedFenceFile?
    let report: @Sendable (FenceStatus) -> Void

    init(_ memory: FenceMemory?, _ file: AddedFenceFile?, _ report: @escaping @Sendable (FenceStatus) -> Void) {
      (self.memory, self.file, self.report) = (memory, file, report)
    }
  }

  private struct State {
    var list = FenceList()
    /// In the order of the list.
    var lookouts: [FenceLookout] = []
    var hub: Hub?
    var service: Service?
  }

  private let clock: any MonotonicTimeSource
  private let state = Guarded(State())
  /// Of several that add or remove at once, one after the other writes the disk.
  private let disk = Guarded(())
  private let latest = MutableProperty<[FenceStatus]>([])

  init(clock: any MonotonicTimeSource) { self.clock = clock }

  /// Of all fences, with each change of a state: the fixes between two changes tell nothing new.
  var changes: Property<[FenceStatus]> { latest.readOnly }

  /// The same with the last fix of each, and when the next one is due.
  var outlooks: [FenceOutlook] { state.withLock { $0.lookouts }.map(\.outlook) }

  /// Those that were added while the hub runs, or in a run before.
  var addedNames: [String] { state.withLock { $0.list.addedNames } }

  /// Watches the fences of a board, those that were added, and no others from now on. Those that have not changed go on as they are.
  ///
  /// - Parameters:
  ///   - memory: of other runs
  ///   - file: where added ones are kept; read with the first board
  ///   - report: told of each change of a state, with its event
  func follow(
    _ hub: Hub, memory: FenceMemory?, file: AddedFenceFile? = nil,
    report: @escaping @Sendable (FenceStatus) -> Void
  ) {
    let isFirst = state.withLock { $0.service == nil }
    let kept = isFirst ? file?.fences ?? [] : []
    state.withLock { state in
      state.list.ofBoard = hub.board.fences
      state.list.restore(kept)
      state.hub = hub
      state.service = state.service ?? Service(memory, file, report)
    }
    watch()
  }

  /// Adds a fence, or moves the one that was added under its name.
  ///
  /// - Returns: whether it is kept over a restart of the hub
  func add(_ fence: AddedFence) throws(FenceRefusal) -> Bool {
    let board = state.withLock { $0.hub?.board }
    guard let board, !Set([StatePart.position]).kinds(on: board).isEmpty else { throw .noReceiver }
    return try change { (list) throws(FenceRefusal) in try list.add(fence) }
  }

  /// Removes a fence that was added.
  ///
  /// - Returns: whether it is forgotten for a restart of the hub too
  func remove(_ name: String) throws(FenceRefusal) -> Bool {
    try change { (list) throws(FenceRefusal) in try list.remove(name) }
  }

  private func change(_ edit: (inout FenceList) throws(FenceRefusal) -> Void) throws(FenceRefusal) -> Bool {
    let service = try state.withLock { (state) throws(FenceRefusal) in
      try edit(&state.list)
      return state.service
    }
    watch()
    // What the list has by then: of two changes at once the later one counts.
    return disk.withLock { _ in
      let fences = state.withLock { $0.list.added.map(\.fence) }
      return service?.file?.keep(fences) ?? false
    }
  }

  /// Brings about what the list says.
  private func watch() {
    let (settings, memory) = state.withLock { ($0.list.all, $0.service?.memory) }
    // Not under the lock, which fixes wait for.
    let sides = memory?.sides(of: settings) ?? [:]
    let (gone, new, hub) = state.withLock { state -> ([FenceLookout], [FenceLookout], Hub?) in
      guard let service = state.service else { return ([], [], nil) }
      let old = state.lookouts
      var new: [FenceLookout] = []
      state.lookouts = state.list.all.map { settings in
        if let same = old.first(where: { $0.settings == settings }) { return same }
        let lookout = FenceLookout(settings, rememberedSide: sides[settings.name], clock: clock) {
          [weak self] status in
          service.report(status)
          self?.tell()
          service.memory?.keep { [weak self] in self?.known ?? [] }
        }
        new.append(lookout)
        return lookout
      }
      let present = state.lookouts
      return (old.filter { one in !present.contains { $0 === one } }, new, state.hub)
    }
    for lookout in gone { lookout.end() }
    if !gone.isEmpty || !new.isEmpty { tell() }
    if let hub { for lookout in new { lookout.begin(on: hub) } }
  }

  func end() {
    let gone = state.withLock { state in
      defer { state = State() }
      return state.lookouts
    }
    for lookout in gone { lookout.end() }
  }

  private var known: [(settings: FenceSettings, status: FenceStatus)] {
    state.withLock { $0.lookouts }.map { ($0.settings, $0.status) }
  }

  private func tell() {
    // Under the lock: of two reports at once the later one is the last.
    let mustDeliver = state.withLock { latest.stage($0.lookouts.map(\.status)) }
    if mustDeliver { latest.deliver() }
  }
}
