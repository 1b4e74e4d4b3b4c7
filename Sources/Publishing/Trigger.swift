/// Sends signals by name: what is activated for an ID reaches those who listen for an equal one.
///
/// IDs are compared, not hashed, so that an ID may match more than itself: "everything" as well as "the GPS".
public struct Trigger<ID: Equatable & Sendable>: Sendable {
  private let subject = Subject<ID, Never>()

  public init() {}

  public func activate(_ id: ID) { subject.send(id) }

  /// Fires whenever an equal ID is activated.
  public func signal(for id: ID) -> Deferred<Void, Never> {
    subject.compactMap { $0 == id ? () : nil }
  }
}
