import Guarding

/// The books of all devices, by their IDs. They outlive the board files that are read one after the other, and are
/// stored in a file between two runs of the hub.
public final class PowerBooks: Sendable {
  struct Entry: Sendable {
    var id: String
    var book: PowerBook
  }

  /// Devices that the board does not name any more may come back; this is the maximum number of all books.
  static let limit = 64

  private let systemTime: @Sendable () -> Int64
  /// The one that was opened last at the end.
  private let entries = Guarded<[Entry]>([])

  /// - Parameter systemTime: nanoseconds since 1970
  public init(systemTime: @escaping @Sendable () -> Int64) { self.systemTime = systemTime }

  /// The book of a device; a new one if another device had the name, which continues the energy recorded under it.
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

  /// Takes over the knowledge of a previous hub.
  ///
  /// - Parameter file: the contents of the file
  /// - Returns: the errors of the entries that were skipped
  /// - Throws: if nothing in the file is usable; then nothing is taken over
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

  /// As the file has them.
  public var text: [UInt8] {
    Array(PowerBooksFile.text(snapshot.map { ($0.id, $0.book.identity, $0.book.snapshot) }).utf8)
  }
}
