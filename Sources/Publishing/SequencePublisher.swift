extension Sequence where Self: Sendable, Element: Sendable {
  /// Publishes the elements and finishes. Each subscriber receives all elements before its call of `subscribe` returns.
  ///
  /// An endless sequence is sent until the subscriber cancels inside a handler, or until an operator has received the
  /// values it needs: `(1...).publisher.first { $0 > 9 }`.
  public var publisher: Deferred<Element, Never> {
    Deferred.deriving { (run) throws(Never) in
      for element in self {
        if run.isOver { break }
        run.send(element)
      }
      run.finish(.finished)
      return Subscription {}
    }
  }
}
