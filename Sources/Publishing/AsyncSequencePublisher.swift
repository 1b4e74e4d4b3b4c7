extension AsyncSequence where Self: Sendable, Element: Sendable {
  /// Publishes the elements of the sequence and its end. Each subscriber iterates separately, in a task that lives as
  /// long as its subscription.
  ///
  /// ```swift
  /// let lease = lines.publisher.subscribe(as: "journal", receiveValue: { parse($0) })
  /// ```
  ///
  /// A sequence that can be iterated only once needs `shared(as:)`, which iterates once for all subscribers. The
  /// handlers run on the task's thread; the next element is requested after they have returned.
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
