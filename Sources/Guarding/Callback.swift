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
