import CLinux

/// Runs a body on a thread of its own: what blocks, such as reading from a device, must not hold up Swift's shared threads.
public enum DetachedThread {
  private final class Body {
    let name: String
    let run: @Sendable () -> Void

    init(name: String, run: @escaping @Sendable () -> Void) {
      self.name = name
      self.run = run
    }
  }

  /// The stack of each thread. The system's own size is whatever `ulimit -s` says in the shell or unit that started the
  /// process: 8 MB as a rule, but nothing to rely on.
  ///
  /// Nothing that runs on such a thread goes deeper with time or with what a client sends. The deepest is the parser of a
  /// client's request, which gives up 512 levels and 172 kB down. The soak (`benchmarks SENSORHUB soak`) finds that no
  /// thread has ever touched a quarter of this.
  public static let stackByteCount = 1 << 20

  /// Returns 0, or the error number where the system has no thread to give.
  ///
  /// - Parameter name: as `ps` and `top` show it, cut to 15 bytes
  public static func start(_ name: String, _ run: @escaping @Sendable () -> Void) -> Int32 {
    let body = Unmanaged.passRetained(Body(name: name, run: run))
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setstacksize(&attributes, stackByteCount)
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    var thread = pthread_t()
    let result = pthread_create(
      &thread, &attributes,
      { context in
        // The pointer is the one retained above, consumed exactly once, here.
        guard let context else { return nil }
        let body = Unmanaged<Body>.fromOpaque(context).takeRetainedValue()
        clinux_name_thread(String(body.name.prefix(15)))
        body.run()
        return nil
      }, body.toOpaque())
    if result != 0 { body.release() }
    return result
  }
}
