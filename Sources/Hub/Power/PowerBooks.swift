import Guarding

/// The power books of all devices, by ID. They outlive reloads of the board file, and are stored in a file between two
/// runs of the hub.
public final class PowerBooks: Sendable {
  struct Entry: Sendable {
    var id: String
    var book: PowerBook
  }

  /// The maximum number of books. Devices that have left the board file keep theirs, because they may come back.
  static let limit = 64

  private let systemTime: @Sendable () -> Int64
  /// The books, the last opened one at the end.
  private let entries = Guarded<[Entry]>([])

  /// - Parameter systemTime: nanoseconds since 1970
  public init(systemTime: @escaping @Sendable () -> Int64) { self.systemTime = systemTime }

  /// The book of a device. If another device had the name, the book is new and continues the energy recorded under it.
  func book(of id: String, _ identity: String) -> PowerBook {
    entries.withLock { entries in
      let known = entries.firstIndex { $0.id == id }.map { entries.remove(at: $0) }
      let entry =
        known.flatMap { $0.book.identity == identity ? $0 : nil }
        ?? Entry(id: id, book: PowerBook(of: identity, succeeding: known?.book, systemTime: systemTime))
      entries.append(entry)
      if entries.count > PowerBooks.limit { entries.removeFirst(entries.count - PowerBooks.limit) }
      return entry.book
    }
  }

  var snapshot: [Entry] { entries.withLock { $0 } }

  /// Restores the knowledge of a previous hub.
  ///
  /// - Parameter file: the contents of the file
  /// - Returns: the errors of skipped entries
  /// - Throws: if nothing in the file is usable; then nothing is restored
  @discardableResult
  public func restore(_ text: [UInt8], file: String) throws(BoardError) -> [BoardError] {
    let (devices, problems) = try PowerBooksFile.read(text, file: file)
    for (id, identity, content) in devices {
      let book = entries.withLock { entries -> PowerBook? in
        if let known = entries.first(where: { $0.id == id }) { return known.book }
        guard entries.count < PowerBooks.limit else { return nil }
        let book = PowerBook(of: identity, systemTime: systemTime)
        entries.insert(Entry(id: id, book: book), at: 0)
        return book
      }
      book?.restore(content, of: identity)
    }
    return problems
  }

  /// The text of the file.
  public var text: [UInt8] {
    Array(PowerBooksFile.text(snapshot.map { ($0.id, $0.book.identity, $0.book.snapshot) }).utf8)
  }
}
