import DequeModule
import Guarding
import HTTPTypes
import Hummingbird

/// Does what waits for a disk, so that the event loop need not. The threads are few and there only while there is something to
/// read; who asks for more than they get done waits, or is sent away.
final class ReadingThreads: Sendable {
  /// How many files are read at once: a card is not faster for more.
  static let limit = 2
  /// How much may wait for that.
  private static let waitingLimit = 32
  private static let retrySeconds = "2"

  private struct Job: Sendable {
    var run: @Sendable () -> Void
    var refuse: @Sendable () -> Void
  }

  private struct State {
    var jobs = Deque<Job>()
    var threadCount = 0
  }

  private let state = Guarded(State())

  /// What a body that may wait for the disk returns.
  ///
  /// - Parameter isUnderWay: it goes on with what has been let in before
  /// - Throws: 503 where too much is asked for at once
  func run<Result: Sendable>(
    isUnderWay: Bool = false, _ body: @escaping @Sendable () -> Result
  ) async throws(HTTPError) -> Result {
    let answer = Answer<Result>()
    await withUnsafeContinuation { continuation in
      submit(
        Job(run: { answer.give(body(), to: continuation) }, refuse: { answer.give(nil, to: continuation) }),
        isUnderWay)
    }
    let result = answer.given
    guard let result else {
      throw HTTPError(
        .serviceUnavailable, headers: [.retryAfter: ReadingThreads.retrySeconds],
        message: "too much of what was recorded is asked for at once")
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
    if !isTaken { job.refuse() }
    guard mustStart, DetachedThread.start("history", { self.work() }) != 0 else { return }
    // No thread to be had: what waits is for another one, if there is one.
    let abandoned = state.withLock { state -> Deque<Job> in
      state.threadCount -= 1
      guard state.threadCount == 0 else { return [] }
      defer { state.jobs = [] }
      return state.jobs
    }
    for job in abandoned { job.refuse() }
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

/// What a job returns, to the task that waits for it.
private final class Answer<Result: Sendable>: Sendable {
  private let result = Guarded<Result?>(nil)

  /// The task goes on once this is over: under a lock that it takes as well, so that whatever was done here comes before what it
  /// does next.
  func give(_ result: Result?, to continuation: UnsafeContinuation<Void, Never>) {
    self.result.withLock { present in
      present = result
      continuation.resume()
    }
  }

  var given: Result? { result.withLock { $0 } }
}
