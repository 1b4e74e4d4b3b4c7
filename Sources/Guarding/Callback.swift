/// Something to do, in a type of its own.
///
/// A bare closure does not keep in a generic container, an optional included: each time it is read there in place, Swift
/// wraps it in one more thunk and stores that, so that calls grow slower for ever and letting go of it overflows the
/// stack. `.ci/check-closures` refuses such containers.
public struct Callback: Sendable {
  private let run: @Sendable () -> Void

  public init(_ run: @escaping @Sendable () -> Void) { self.run = run }

  public func callAsFunction() { run() }
}
