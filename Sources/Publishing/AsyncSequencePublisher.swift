extension AsyncSequence where Self: Sendable, Element: Sendable {
  /// The elements as they come, and how the sequence ends. Each subscriber iterates for itself, in a task that its lease
  /// keeps alive; `shared(as:)` makes one iteration of it for all, which sequences that can be read but once need.
  ///
  /// The handlers run on that task's thread, and the next element is asked for when they have returned.
  public var publisher: Deferred<Element, Failure> {
    Deferred.deriving { (run) throws(Failure) in
      let task = Task {
        do throws(Failure) {
          var iterator = self.makeAsyncIterator()
          while let element = try await iterator.next(isolation: nil) { run.send(element) }
          run.finish(.finished)
        } catch {
          run.finish(.failed(error))
        }
      }
      return Subscription { task.cancel() }
    }
  }
}
