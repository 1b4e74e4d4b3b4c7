extension Sequence where Self: Sendable, Element: Sendable {
  /// The elements, from the first one for each subscriber, sent while it subscribes; and the end.
  ///
  /// A sequence without an end is sent until the subscriber cancels, from inside its handler, or has what it wants:
  /// `(1...).publisher.first { $0 > 9 }`.
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
