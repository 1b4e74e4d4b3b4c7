import Hub

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

  /// Restores the fences of an earlier run, and leaves out invalid ones.
  mutating func restore(_ fences: [AddedFence]) {
    for fence in fences { try? add(fence) }
  }

  /// Adds a fence, or moves one that was added under this name.
  mutating func add(_ fence: AddedFence) throws(FenceRefusal) {
    let settings = try fence.settings()
    if isOfBoard(fence.name) { throw .ofBoardFile(name: fence.name) }
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
