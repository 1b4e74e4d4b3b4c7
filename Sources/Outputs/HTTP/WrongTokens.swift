import Guarding
import Hub
import MonotonicTime
import NIOCore

/// What becomes of requests with a token that is not the right one: they wait for their answer, so that guessing takes long, and
/// the log has a line about them, if not for each.
///
/// The right token is never kept waiting: who guesses behind the same address as others locks nobody out. Without any token
/// there is nothing to guess, and a browser has to be told at once that one is wanted.
final class WrongTokens: Sendable {
  static let pause = TimeAmount.seconds(1)
  private static let window = Duration.seconds(60)

  private let name: String
  private let sink: JournalSink
  private let lines: RepeatedLines
  private let wait: @Sendable (any Channel) async throws -> Void

  /// - Parameters:
  ///   - name: what the port is called in the log
  ///   - wait: returns after `pause`
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

  /// Takes notice of one, and returns when it may be answered.
  func refuse(_ peer: String, on channel: any Channel) async throws {
    if lines.admit() { sink.write(.warning, "\(name): \(peer) has sent a wrong token") }
    try await wait(channel)
  }
}
