import CLinux

/// The place of a lock in the order in which a thread takes nested locks (CONTRIBUTING, "Locks").
///
/// In debug builds, taking a lock with a rank stops the process if the thread already holds a lock of the same or a
/// later rank. Two threads that take two locks in opposite orders can block each other. A test rarely hits the moment
/// at which they do, but a lock out of order stops the process each time. A release build neither stores nor checks
/// ranks. Locks without a rank are not checked.
///
/// ```swift
/// extension LockRank {
///   static let rail = LockRank(50, "PowerRail")
/// }
///
/// let state = Guarded(State(), rank: .rail)
/// ```
public struct LockRank: Sendable {
  /// The place in the order; the outermost lock has the lowest level. Greater than zero.
  public let level: Int
  public let name: StaticString
  /// Whether a thread may hold several locks of this rank. Another rule then determines their order.
  public let mayNest: Bool

  public init(_ level: Int, _ name: StaticString, mayNest: Bool = false) {
    self.level = level
    self.name = name
    self.mayNest = mayNest
  }

  /// Whether a thread may take a lock of this rank while the innermost lock that it holds has the level `held`.
  func mayFollow(_ held: Int) -> Bool { mayNest ? level >= held : level > held }
}

/// The ranks of the locks that the present thread holds. Because locks are released in the opposite order, the level of
/// the innermost lock is enough; `Guarded.withLock` restores the one before it.
@usableFromInline
enum HeldRank {
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let result = pthread_key_create(&key, nil)
    precondition(result == 0, "pthread_key_create: \(result)")
    return key
  }()

  /// The level of the innermost lock with a rank that this thread holds; 0 if it holds none.
  static var level: Int { Int(bitPattern: pthread_getspecific(key)) }

  /// Records that this thread is about to take a lock.
  ///
  /// - Returns: the level to restore with `leave` after the lock is released
  @usableFromInline
  static func enter(_ rank: LockRank) -> Int {
    let held = level
    precondition(
      rank.mayFollow(held), "the lock of \(rank.name) (\(rank.level)) is taken under a lock of level \(held)")
    pthread_setspecific(key, UnsafeRawPointer(bitPattern: rank.level))
    return held
  }

  @usableFromInline
  static func leave(_ before: Int) { pthread_setspecific(key, UnsafeRawPointer(bitPattern: before)) }
}
