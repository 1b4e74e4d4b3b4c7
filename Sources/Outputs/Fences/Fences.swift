import Guarding
import Hub
import MonotonicTime
import Publishing

/// The fences of the board file and those that were added while the hub runs. Each fence holds a subscription to fixes,
/// which wakes receivers. Reading the status of the fences wakes no device.
///
/// The lock protects the list of fences. Monitors begin and end outside the lock, because fixes wait for the lock.
public final class Fences: Sendable {
  /// The arguments of the first call of `follow`.
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
    /// The monitors of the fences, in the order of the list.
    var fenceMonitors: [FenceMonitor] = []
    var hub: Hub?
    var service: Service?
  }

  private let clock: any MonotonicTimeSource
  private let state = Guarded(State())
  /// Serializes the disk writes of concurrent additions and removals.
  private let disk = Guarded(())
  private let latest = MutableProperty<[FenceStatus]>([])

  init(clock: any MonotonicTimeSource) { self.clock = clock }

  /// The status of all fences. It changes only with a fence's state, not with each fix.
  var changes: Property<[FenceStatus]> { latest.readOnly }

  /// The status of all fences, with the last fix and the time of the next fix.
  var snapshots: [FenceSnapshot] { state.withLock { $0.fenceMonitors }.map(\.snapshot) }

  /// The names of the fences that were added, in this run or an earlier one.
  var addedNames: [String] { state.withLock { $0.list.addedNames } }

  /// Watches the fences of a board and the added ones, and no others. Unchanged fences keep their monitors.
  ///
  /// - Parameters:
  ///   - memory: on which side of each fence the board was in earlier runs
  ///   - file: the added fences; read with the first board
  ///   - report: called with the status of a fence whose state has changed
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

  /// Adds a fence, or moves an added one of the same name.
  ///
  /// - Returns: whether the fence survives a restart of the hub
  func add(_ fence: AddedFence) throws(FenceRefusal) -> Bool {
    let board = state.withLock { $0.hub?.board }
    guard let board, !Set([StatePart.position]).kinds(on: board).isEmpty else { throw .noReceiver }
    return try change { (list) throws(FenceRefusal) in try list.add(fence) }
  }

  /// Checks whether a fence could be added at present, and adds none.
  ///
  /// - Throws: why not
  func requirePossible(_ fence: AddedFence) throws(FenceRefusal) {
    var list = state.withLock { $0.list }
    try list.add(fence)
  }

  /// Removes an added fence.
  ///
  /// - Returns: whether it stays removed after a restart of the hub
  func remove(_ name: String) throws(FenceRefusal) -> Bool {
    try change { (list) throws(FenceRefusal) in try list.remove(name) }
  }

  private func change(_ edit: (inout FenceList) throws(FenceRefusal) -> Void) throws(FenceRefusal) -> Bool {
    let service = try state.withLock { (state) throws(FenceRefusal) in
      try edit(&state.list)
      return state.service
    }
    watch()
    // This saves the current list, so after two concurrent changes the file has both.
    return disk.withLock { _ in
      let fences = state.withLock { $0.list.added.map(\.fence) }
      return service?.file?.keep(fences) ?? false
    }
  }

  /// Begins and ends monitors so that they match the list.
  private func watch() {
    let (settings, memory) = state.withLock { ($0.list.all, $0.service?.memory) }
    // Monitors begin and end outside the lock, because fixes wait for it.
    let sides = memory?.sides(of: settings) ?? [:]
    let (gone, new, hub) = state.withLock { state -> ([FenceMonitor], [FenceMonitor], Hub?) in
      guard let service = state.service else { return ([], [], nil) }
      let old = state.fenceMonitors
      var new: [FenceMonitor] = []
      state.fenceMonitors = state.list.all.map { settings in
        if let same = old.first(where: { $0.settings == settings }) { return same }
        let fenceMonitor = FenceMonitor(settings, rememberedSide: sides[settings.name], clock: clock) {
          [weak self] status in
          service.report(status)
          self?.tell()
          service.memory?.keep { [weak self] in self?.known }
        }
        new.append(fenceMonitor)
        return fenceMonitor
      }
      let present = state.fenceMonitors
      return (old.filter { one in !present.contains { $0 === one } }, new, state.hub)
    }
    for fenceMonitor in gone { fenceMonitor.end() }
    if !gone.isEmpty || !new.isEmpty { tell() }
    // A later fence of the same name and area is another one.
    if !gone.isEmpty { memory?.keep { [weak self] in self?.known } }
    if let hub { for fenceMonitor in new { fenceMonitor.begin(on: hub) } }
  }

  func end() {
    let gone = state.withLock { state in
      defer { state = State() }
      return state.fenceMonitors
    }
    for fenceMonitor in gone { fenceMonitor.end() }
  }

  /// The present fences; `nil` if the hub is ending.
  private var known: [(settings: FenceSettings, status: FenceStatus)]? {
    state.withLock { $0.service == nil ? nil : $0.fenceMonitors }?.map { ($0.settings, $0.status) }
  }

  private func tell() {
    // Staging under the lock ensures that after two concurrent reports the later one is delivered last.
    let mustDeliver = state.withLock { latest.stage($0.fenceMonitors.map(\.status)) }
    if mustDeliver { latest.deliver() }
  }
}

/// The fences of the board file and the added ones. The list decides which fences exist, and watches none.
struct FenceList: Sendable {
  /// The maximum number of added fences. Each one wakes receivers.
  static let limit = 32

  /// The fences of the board file, in its order.
  var ofBoard: [FenceSettings] = []
  /// The added fences, the oldest first, each in the form that the state folder keeps, and with the settings that
  /// follow from it.
  private(set) var added: [(fence: AddedFence, settings: FenceSettings)] = []

  /// All watched fences. A fence of the board file hides an added one of the same name.
  var all: [FenceSettings] { ofBoard + added.map(\.settings).filter { !isOfBoard($0.name) } }

  var addedNames: [String] { added.map(\.fence.name).filter { !isOfBoard($0) } }

  private func isOfBoard(_ name: String) -> Bool { ofBoard.contains { $0.name == name } }

  /// Restores the fences of an earlier run, and leaves out invalid ones. A fence that the board file hides at present
  /// is restored too, as it comes back when the board file no longer has its name.
  mutating func restore(_ fences: [AddedFence]) {
    for fence in fences { try? put(fence) }
  }

  /// Adds a fence, or moves one that was added under this name.
  mutating func add(_ fence: AddedFence) throws(FenceRefusal) {
    if isOfBoard(fence.name) { throw .ofBoardFile(name: fence.name) }
    try put(fence)
  }

  private mutating func put(_ fence: AddedFence) throws(FenceRefusal) {
    let settings = try fence.settings()
    if let index = added.firstIndex(where: { $0.fence.name == fence.name }) {
      added[index] = (fence, settings)
      return
    }
    guard added.count < FenceList.limit else { throw .full(limit: FenceList.limit) }
    added.append((fence, settings))
  }

  mutating func remove(_ name: String) throws(FenceRefusal) {
    if isOfBoard(name) { throw .ofBoardFile(name: name) }
    guard let index = added.firstIndex(where: { $0.fence.name == name }) else {
      throw .unknown(name: name, known: addedNames)
    }
    added.remove(at: index)
  }
}

/// Whether the board was inside or outside each fence when the hub last ran. With it, the hub detects that the board
/// left a fence while no hub ran.
public final class FenceMemory: Sendable {
  private struct Side: Codable, Equatable {
    /// The area that the fence had. If the fence has another area now, the stored side does not count.
    var area: String
    var isInside: Bool
  }

  private let file: StateFile<[String: StateEntry<Side>]>

  /// - Parameters:
  ///   - path: the file
  ///   - makeFolder: makes the file's folder if it is missing
  public init(path: String, makeFolder: @escaping @Sendable () -> Void) {
    file = StateFile(path: path, mostBytes: 1 << 20, nothing: [:], makeFolder: makeFolder)
  }

  /// The known sides, by the names of the fences. Reads the disk.
  func sides(of fences: [FenceSettings]) -> [String: FenceStatus.State] {
    if fences.isEmpty { return [:] }
    let known = file.content
    return fences.reduce(into: [:]) { found, fence in
      guard let side = known[fence.name]?.value, side.area == fence.area.description else { return }
      found[fence.name] = side.isInside ? .inside : .outside
    }
  }

  /// Saves the known sides of the fences. It returns at once: a separate thread writes to the disk.
  ///
  /// - Parameter fences: returns the present fences, or `nil` if the hub is ending
  func keep(_ fences: @escaping @Sendable () -> [(settings: FenceSettings, status: FenceStatus)]?) {
    // If no thread can be started, this change is saved together with the next one.
    _ = DetachedThread.start("fences") { [file] in
      // If the present side of a fence is unknown, the file keeps the last known one. Otherwise a fence that loses its
      // fix repeatedly would wear out the disk.
      file.change { sides in
        guard let present = fences() else { return }
        let old = sides
        sides = present.reduce(into: [:]) { sides, fence in
          let area = fence.settings.area.description
          switch fence.status.state {
          case .unknown:
            if let known = old[fence.settings.name], known.value?.area == area { sides[fence.settings.name] = known }
          case .inside, .outside:
            sides[fence.settings.name] = StateEntry(Side(area: area, isInside: fence.status.state == .inside))
          }
        }
      }
    }
  }
}
