/// Sends signals by ID: activating an ID fires the signals of all equal IDs.
///
/// ```swift
/// let refresh = Trigger<String>()
/// let listing = query.publishAndRepeat(onOutputFrom: refresh.signal(for: "stations"))
/// refresh.activate("stations")
/// ```
///
/// IDs are compared and not hashed, so that an ID may equal several others, for example "everything" and "the GPS".
public struct Trigger<ID: Equatable & Sendable>: Sendable {
  private let subject = Subject<ID, Never>()

  public init() {}

  public func activate(_ id: ID) { subject.send(id) }

  /// Fires whenever an equal ID is activated.
  public func signal(for id: ID) -> Deferred<Void, Never> {
    subject.compactMap { $0 == id ? () : nil }
  }
}
