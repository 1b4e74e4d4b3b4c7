import Guarding
import TestSupport
import Testing

/// A trait of suites whose tests share programs that are slow to start. The first test that needs a program starts it,
/// and it ends with the suite.
struct SharedFixtures: SuiteTrait, TestScoping {
  /// The fixtures of the present suite.
  fileprivate final class Made: Sendable {
    @TaskLocal static var ofSuite: Made?
    let fixtures = Guarded<[ObjectIdentifier: any SharedFixture]>([:])
  }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await Made.$ofSuite.withValue(Made()) {
      try await BrowserProcess.keep { try await function() }
    }
  }
}

extension Trait where Self == SharedFixtures {
  /// The suite's tests share browsers with those of other suites, and hubs with each other.
  static var sharesFixtures: Self { Self() }
}

/// A fixture of a whole suite. Tests may use it at the same time, unless the suite is serialized.
protocol SharedFixture: AnyObject, Sendable {
  init() throws
}

extension SharedFixture {
  /// Returns the fixture of the present suite, and makes it for the first test.
  static func shared() throws -> Self {
    let made = try #require(SharedFixtures.Made.ofSuite, "the suite lacks the trait 'sharesFixtures'")
    return try made.fixtures.withLock { fixtures in
      if let fixture = fixtures[ObjectIdentifier(self)] as? Self { return fixture }
      let fixture = try Self()
      fixtures[ObjectIdentifier(self)] = fixture
      return fixture
    }
  }
}

/// A hub on the simulated board, with its web port. A test that stops the hub, changes its board or counts how often it
/// wakes has a hub of its own.
final class SharedHub: SharedFixture, @unchecked Sendable {
  // Unchecked, and safe: all properties of a `HubProcess` are constants of types that are `Sendable`.
  let hub: HubProcess
  let port = SocketClient.freePort()

  init() {
    hub = HubProcess(board: HubProcess.simulatedBoard("http: { port: \(port) }"))
    _ = hub.logs("dashboard on")
  }
}
