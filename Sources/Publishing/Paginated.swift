import Guarding

/// Pages that are fetched one after the other, each when somebody asks for it: the first on subscribing, every other one when the
/// signal fires. Cold: each subscriber begins with the first page.
///
/// A page is fetched on the thread that asks, the one that subscribes or that sends the signal: where that takes long, it is
/// the asking that has to be done elsewhere. A signal that comes while a page is being fetched or received asks for the next
/// one; two such ask for one. After the last page, or once the signal has finished and so nobody can ask any more, the
/// publisher finishes.
public struct Paginated<Page: Sendable, Failure: Error>: Publisher {
  private let pages: Deferred<Page, Failure>

  /// - Parameters:
  ///   - first: where the first page begins
  ///   - signal: asks for the next page
  ///   - fetch: the page that begins there, and where the one behind it does; `nil` if it is the last one
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

/// One subscriber's way through the pages.
private final class PageTurning<Cursor: Sendable, Page: Sendable, Failure: Error>: Sendable {
  private struct State {
    /// Of the next page; `nil` behind the last one.
    var next: Cursor?
    var isTurning = false
    /// Somebody has asked while a page was fetched or received.
    var isAsked = false
    /// Nobody will ask any more.
    var isClosed = false
  }

  private let run: Activating<Page, Failure>
  private let fetch: @Sendable (Cursor) throws(Failure) -> (page: Page, next: Cursor?)
  private let state: Guarded<State>

  init(
    _ first: Cursor, _ run: Activating<Page, Failure>,
    _ fetch: @escaping @Sendable (Cursor) throws(Failure) -> (page: Page, next: Cursor?)
  ) {
    self.run = run
    self.fetch = fetch
    state = Guarded(State(next: first))
  }

  /// Fetches a page, and those that are asked for meanwhile.
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

  /// A page has been received; returns where the next one begins if it has been asked for.
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
