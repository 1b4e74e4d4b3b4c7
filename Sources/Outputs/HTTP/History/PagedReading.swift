import Guarding
import Hummingbird
import Publishing

/// Reads pages for one client. The next page is read when the client has taken the previous one. Releasing this value
/// ends the reading.
final class PagedReading<Page: Sendable, Failure: Error>: Sendable {
  private struct State {
    var subscription: Subscription?
    var page: Page?
    var failure: Failure?
  }

  private let pages: Paginated<Page, Failure>
  private let asks: Subject<Void, Never>
  private let threads: ReadingThreads
  private let state = Guarded(State())

  /// - Parameters:
  ///   - threads: the threads that read
  ///   - first, fetch: see `Paginated`
  init<Cursor: Sendable>(
    on threads: ReadingThreads, from first: Cursor,
    fetch: @escaping @Sendable (Cursor) throws(Failure) -> (page: Page, next: Cursor?)
  ) {
    let asks = Subject<Void, Never>()
    self.asks = asks
    self.threads = threads
    pages = Paginated(from: first, onOutputFrom: asks, fetch: fetch)
  }

  /// The next page; `nil` after the last one.
  func next() async throws -> Page? {
    // A client that has the first page gets all further pages, even if other clients have come in the meantime.
    let isUnderWay = state.withLock { $0.subscription != nil }
    try await threads.run(isUnderWay: isUnderWay) { [self] in turn() }
    let (page, failure) = state.withLock { state in
      defer { state.page = nil }
      return (state.page, state.failure)
    }
    if let failure { throw failure }
    return page
  }

  private func turn() {
    if state.withLock({ $0.subscription != nil }) { return asks.send(()) }
    let subscription = pages.subscribe(
      as: "history", receiveValue: { [weak self] page in self?.state.withLock { $0.page = page } },
      receiveCompletion: { [weak self] completion in
        if case .failed(let error) = completion { self?.state.withLock { $0.failure = error } }
      })
    state.withLock { $0.subscription = subscription }
  }
}
