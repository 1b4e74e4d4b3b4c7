import Guarding
import Hub
import MonotonicTime
import NIOCore

/// Delays the answers to requests with a wrong token, so that guessing takes long, and logs them at a limited rate.
///
/// The right token is never delayed, so guesses from the same address lock no client out. A request without a token
/// is not delayed either: it is no guess, and a browser must learn at once that it needs a token.
final class WrongTokens: Sendable {
  static let pause = TimeAmount.seconds(1)
  private static let window = Duration.seconds(60)

  private let name: String
  private let sink: JournalSink
  private let lines: RepeatedLines
  private let wait: @Sendable (any Channel) async throws -> Void

  /// - Parameters:
  ///   - name: the port's name in the log
  ///   - wait: waits for `pause` before it returns
  init(
    _ name: String, sink: JournalSink, clock: any MonotonicTimeSource = MonotonicClock(),
    wait: @escaping @Sendable (any Channel) async throws -> Void = { channel in
      try await channel.eventLoop.scheduleTask(in: WrongTokens.pause) {}.futureResult.get()
    }
  ) {
    self.sink = sink
    self.wait = wait
    self.name = name
    let seconds = Text.fixed(WrongTokens.window.inSeconds, 0)
    lines = RepeatedLines(limit: 1, within: WrongTokens.window, clock: clock) { count in
      sink.write(.warning, "\(name): \(count) more requests with a wrong token within \(seconds) s")
    }
  }

  /// Logs a request with a wrong token, and returns when it may be answered.
  func refuse(_ peer: String, on channel: any Channel) async throws {
    if lines.admit() { sink.write(.warning, "\(name): \(peer) has sent a wrong token") }
    try await wait(channel)
  }
}
