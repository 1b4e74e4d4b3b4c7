import CLinux

/// A value that can only be reached while holding its lock.
///
/// The standard library's `Mutex` would do, but waits in code that the thread sanitizer cannot see into and then reports
/// races where there are none. This one is a POSIX mutex, which the sanitizer understands; uncontended it costs a few
/// nanoseconds more.
public struct Guarded<Value: Sendable & ~Copyable>: ~Copyable, @unchecked Sendable {
  // Unchecked, and safe: `value` is touched only between lock and unlock of `mutex`, both live exactly as long as this
  // struct, which cannot be copied, and `Value` may cross threads by itself.
  @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
  @usableFromInline let value: UnsafeMutablePointer<Value>

  public init(_ value: consuming Value) {
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

  /// Runs `body` while nobody else can reach the value. Not recursive: `body` must not come back here.
  @inlinable @inline(__always)
  public borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value.pointee)
  }
}
