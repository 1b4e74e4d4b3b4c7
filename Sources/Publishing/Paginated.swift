import Guarding

/// Publishes pages that are fetched one at a time on demand: the first when a client subscribes, each further one
/// when the signal fires. Each subscriber begins with the first page.
///
/// ```swift
/// let pages = Paginated(from: 0, onOutputFrom: nextButton) { offset in
///   let page = rows[offset..<min(offset + 20, rows.count)]
///   return (page, page.endIndex < rows.count ? page.endIndex : nil)
/// }
/// ```
///
/// A page is fetched on the thread that subscribes or sends the signal. If fetching takes long, subscribe or send from
/// a thread that may block. A signal that arrives while a page is being fetched or delivered requests the next page;
/// further signals in that time have no effect. The publisher finishes after the last page, or once the signal has
/// finished. It fails if `fetch` throws.
public struct Paginated<Page: Sendable, Failure: Error>: Publisher {
  private let pages: Deferred<Page, Failure>

  /// - Parameters:
  ///   - first: the cursor of the first page
  ///   - signal: requests the next page
  ///   - fetch: returns the page at a cursor and the cursor of the next page, or `nil` after the last one
  public init<Cursor: Sendable>(
    from first: Cursor, onOutputFrom signal: some Publisher<some Sendable, Never>,
    fetch: @escaping @Sendable (Cursor) throws(Failure) -> (page: Page, next: Cursor?)
  ) {
    pages = Deferred.deriving { (run) throws(Failure) in
      let turning = PageTurning(first, run, fetch)
      let trigger = run.subscribe(
        to: signal, receiveValue: { _ in turning.turn() }, receiveCompletion: { _ in turning.close() })
      turning.turn()
      return trigger
    }
  }

  public func attach(_ subscriber: Subscriber<Page, Failure>) -> Subscription { pages.attach(subscriber) }
}

/// The position of one subscriber in the pages.
private final class PageTurning<Cursor: Sendable, Page: Sendable, Failure: Error>: Sendable {
  private struct State {
    /// The cursor of the next page; `nil` after the last one.
    var next: Cursor?
    var isTurning = false
    /// Whether another page was requested while one was being fetched or delivered.
    var isAsked = false
    /// Whether the signal has finished, so that no further request can come.
    var isClosed = false
  }

  private let run: ActivationContext<Page, Failure>
  private let fetch: @Sendable (Cursor) throws(Failure) -> (page: Page, next: Cursor?)
  private let state: Guarded<State>

  init(
    _ first: Cursor, _ run: ActivationContext<Page, Failure>,
    _ fetch: @escaping @Sendable (Cursor) throws(Failure) -> (page: Page, next: Cursor?)
  ) {
    self.run = run
    self.fetch = fetch
    state = Guarded(State(next: first))
  }

  /// Fetches a page, and then the pages requested in the meantime.
  func turn() {
    var cursor = state.withLock { state -> Cursor? in
      state.isAsked = true
      return PageTurning.begin(&state)
    }
    while let present = cursor, !run.isOver {
      do throws(Failure) {
        let (page, next) = try fetch(present)
        run.send(page)
        cursor = finish(next: next)
      } catch {
        run.finish(.failed(error))
        return
      }
    }
  }

  func close() {
    let isOver = state.withLock { state in
      state.isClosed = true
      return !state.isTurning
    }
    if isOver { run.finish(.finished) }
  }

  /// Handles the end of a delivery. Returns the cursor of the next page if it has been requested.
  private func finish(next: Cursor?) -> Cursor? {
    let (cursor, isOver) = state.withLock { state -> (Cursor?, Bool) in
      state.isTurning = false
      state.next = next
      let cursor = PageTurning.begin(&state)
      return (cursor, cursor == nil && (next == nil || state.isClosed))
    }
    if isOver { run.finish(.finished) }
    return cursor
  }

  private static func begin(_ state: inout State) -> Cursor? {
    guard state.isAsked, !state.isTurning, let next = state.next else { return nil }
    state.isAsked = false
    state.isTurning = true
    return next
  }
}
