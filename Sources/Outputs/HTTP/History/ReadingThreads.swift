import DequeModule
import Guarding
import HTTPTypes
import Hummingbird
import Publishing

/// Runs work that waits for a disk, so that the event loop does not wait. There are at most `limit` threads, and none
/// if there is nothing to read. Further requests wait, or are refused if too many wait.
final class ReadingThreads: Sendable {
  /// The number of files that are read at once. A higher number would not make an SD card faster.
  static let limit = 2
  /// The maximum number of waiting requests.
  private static let waitingLimit = 32
  private static let retrySeconds = "2"

  /// The reason why a request is refused, in the words of the answer.
  enum Refusal: String, Sendable {
    case tooMany = "too many requests for recordings at once"
    case noThread = "the system has no thread left for reading recordings"
  }

  private struct Job: Sendable {
    var run: @Sendable () -> Void
    var refuse: @Sendable (Refusal) -> Void
  }

  private struct State {
    var jobs = Deque<Job>()
    var threadCount = 0
  }

  private let state = Guarded(State())
  private let startThread: @Sendable (@escaping @Sendable () -> Void) -> Int32

  /// - Parameter startThread: starts a thread, and returns 0 or the error number
  init(
    startThread: @escaping @Sendable (@escaping @Sendable () -> Void) -> Int32 = { DetachedThread.start("history", $0) }
  ) {
    self.startThread = startThread
  }

  /// Runs a closure that may wait for the disk, and returns its result.
  ///
  /// - Parameter isUnderWay: whether this continues a request that was accepted, and is therefore not refused
  /// - Throws: 503 if too many requests wait, or if no thread can be started
  func run<Result: Sendable>(
    isUnderWay: Bool = false, _ body: @escaping @Sendable () -> Result
  ) async throws(HTTPError) -> Result {
    let answer = Answer<Result>()
    await withUnsafeContinuation { continuation in
      submit(
        Job(run: { answer.give(body(), to: continuation) }, refuse: { answer.refuse($0, to: continuation) }),
        isUnderWay)
    }
    let (result, refusal) = answer.given
    guard let result else {
      throw HTTPError(
        .serviceUnavailable, headers: [.retryAfter: ReadingThreads.retrySeconds],
        message: (refusal ?? .tooMany).rawValue)
    }
    return result
  }

  private func submit(_ job: Job, _ isUnderWay: Bool) {
    let (isTaken, mustStart) = state.withLock { state -> (Bool, Bool) in
      guard isUnderWay || state.jobs.count < ReadingThreads.waitingLimit else { return (false, false) }
      state.jobs.append(job)
      guard state.threadCount < ReadingThreads.limit else { return (true, false) }
      state.threadCount += 1
      return (true, true)
    }
    if !isTaken { job.refuse(.tooMany) }
    guard mustStart, startThread({ self.work() }) != 0 else { return }
    // No thread could be created. If another thread exists, it does the waiting work.
    let abandoned = state.withLock { state -> Deque<Job> in
      state.threadCount -= 1
      guard state.threadCount == 0 else { return [] }
      defer { state.jobs = [] }
      return state.jobs
    }
    for job in abandoned { job.refuse(.noThread) }
  }

  private func work() {
    while let job = next() { job.run() }
  }

  private func next() -> Job? {
    state.withLock { state in
      let job = state.jobs.popFirst()
      if job == nil { state.threadCount -= 1 }
      return job
    }
  }
}

/// The result of a job, for the task that waits for it.
private final class Answer<Result: Sendable>: Sendable {
  private let state = Guarded<(result: Result?, refusal: ReadingThreads.Refusal?)>((nil, nil))

  /// Delivers the result and resumes the task. The task takes the same lock, so this call ends before the task
  /// continues.
  func give(_ result: Result, to continuation: UnsafeContinuation<Void, Never>) {
    state.withLock { state in
      state.result = result
      continuation.resume()
    }
  }

  /// Resumes the task without a result, with a refusal. Like `give`, this call ends before the task continues.
  func refuse(_ refusal: ReadingThreads.Refusal, to continuation: UnsafeContinuation<Void, Never>) {
    state.withLock { state in
      state.refusal = refusal
      continuation.resume()
    }
  }

  /// The result, or the reason why there is none.
  var given: (result: Result?, refusal: ReadingThreads.Refusal?) { state.withLock { $0 } }
}

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
