import CLinux

/// A value that can be reached only while its lock is held.
///
/// ```swift
/// let count = Guarded(0)
/// let next = count.withLock { count in
///   count += 1
///   return count
/// }
/// ```
///
/// The standard library's `Mutex` waits in code that the thread sanitizer cannot observe, which leads to false
/// reports of races. This type uses a POSIX mutex, which the sanitizer understands. Without contention it costs a few
/// nanoseconds more.
public struct Guarded<Value: Sendable & ~Copyable>: ~Copyable, @unchecked Sendable {
  // Unchecked, and safe: `value` is accessed only while `mutex` is locked, both live exactly as long as this struct,
  // which cannot be copied, and `Value` is `Sendable`.
  @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
  @usableFromInline let value: UnsafeMutablePointer<Value>
  #if DEBUG
    @usableFromInline let rank: LockRank?
  #endif

  /// - Parameter rank: the place of the lock in the order of locks, which debug builds check; `nil` for a lock under
  ///   which no other lock is taken, or whose order is not checked
  public init(_ value: consuming Value, rank: LockRank? = nil) {
    #if DEBUG
      self.rank = rank
    #endif
    mutex = .allocate(capacity: 1)
    self.value = .allocate(capacity: 1)
    self.value.initialize(to: value)
    let result = pthread_mutex_init(mutex, nil)
    precondition(result == 0, "pthread_mutex_init: \(result)")
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
    value.deinitialize(count: 1)
    value.deallocate()
  }

  /// Runs `body` with exclusive access to the value. Not recursive: `body` must not call `withLock` on the same value.
  @inlinable @inline(__always)
  public borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    #if DEBUG
      let held = rank.map(HeldRank.enter)
      defer { if let held { HeldRank.leave(held) } }
    #endif
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value.pointee)
  }
}

/// A closure wrapped in a type of its own, so that a generic container can hold it.
///
/// A generic container, including `Optional`, must not hold a bare closure. Each time such a closure is read in
/// place, Swift wraps it in one more thunk and stores the result. Calls then become slower without limit, and
/// releasing the closure overflows the stack. `.ci/check-closures` rejects such containers.
public struct Callback: Sendable {
  private let run: @Sendable () -> Void

  public init(_ run: @escaping @Sendable () -> Void) { self.run = run }

  public func callAsFunction() { run() }
}
