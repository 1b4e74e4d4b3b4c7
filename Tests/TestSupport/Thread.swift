import CLinux

/// A thread of the test's own.
public enum Thread {
  private final class Body {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  public static func start(_ run: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    let result = pthread_create(
      &thread, nil,
      { context in
        if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
        return nil
      }, Unmanaged.passRetained(Body(run)).toOpaque())
    precondition(result == 0, "no thread to be had")
    pthread_detach(thread)
  }
}
