import Hub

/// The fences of the board file and those that were added to them. It only decides which there are.
struct FenceList: Sendable {
  /// How many may be added: each has receivers woken.
  static let limit = 32

  /// In the order of the board file.
  var ofBoard: [FenceSettings] = []
  /// In the order in which they came, with what each was added as.
  private(set) var added: [(fence: AddedFence, settings: FenceSettings)] = []

  /// All that are watched: one of the board file comes before one that was added under its name.
  var all: [FenceSettings] { ofBoard + added.map(\.settings).filter { !isOfBoard($0.name) } }

  var addedNames: [String] { added.map(\.fence.name).filter { !isOfBoard($0) } }

  private func isOfBoard(_ name: String) -> Bool { ofBoard.contains { $0.name == name } }

  /// Those that were kept from another run; what cannot be one is left out.
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
