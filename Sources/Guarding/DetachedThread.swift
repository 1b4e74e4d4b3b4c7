import CLinux

/// Runs a body on its own thread. Work that blocks, such as reading from a device, must not occupy Swift's shared
/// threads.
///
/// ```swift
/// let error = DetachedThread.start("gps") { readLines() }
/// if error != 0 { report("cannot start a thread: \(String(cString: strerror(error)))") }
/// ```
public enum DetachedThread {
  private final class Body {
    let name: String
    let run: @Sendable () -> Void

    init(name: String, run: @escaping @Sendable () -> Void) {
      self.name = name
      self.run = run
    }
  }

  /// The stack size of each thread in bytes. Without it, a thread would get the limit that `ulimit -s` sets in the
  /// shell or unit that started the process, which is usually 8 MB and may be anything.
  ///
  /// The stack depth of a thread does not grow with time or with client input. The deepest stack is that of the parser
  /// of a client's request, which gives up at 512 nested levels, where it uses 172 kB. In the soak test (`benchmarks
  /// SENSORHUB soak`), no thread used a quarter of this size.
  public static let stackByteCount = 1 << 20

  /// Starts the thread. Returns 0, or the error number if the system has no thread left.
  ///
  /// - Parameter name: the name that `ps` and `top` show, cut to 15 bytes
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
        // `context` is the pointer retained above. It is consumed exactly once, here.
        guard let context else { return nil }
        let body = Unmanaged<Body>.fromOpaque(context).takeRetainedValue()
        clinux_name_thread(DetachedThread.shortened(body.name))
        body.run()
        return nil
      }, body.toOpaque())
    if result != 0 { body.release() }
    return result
  }

  /// The part of a name that the kernel keeps. The kernel itself would cut a name within a character.
  private static func shortened(_ name: String) -> String {
    var part = name.prefix(15)
    while part.utf8.count > 15 { part.removeLast() }
    return String(part)
  }
}
