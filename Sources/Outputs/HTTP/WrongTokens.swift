import Guarding
import Hub
import MonotonicTime
import NIOCore

/// Delays the answers to requests with a wrong token, so that guessing takes long, and logs them, though not each one.
///
/// The right token is never delayed: guesses from the same address lock no other client out. Without any token there is
/// nothing to guess, and a browser must be told at once that one is required.
final class WrongTokens: Sendable {
  static let pause = TimeAmount.seconds(1)
  private static let window = Duration.seconds(60)

  private let name: String
  private let sink: JournalSink
  private let lines: RepeatedLines
  private let wait: @Sendable (any Channel) async throws -> Void

  /// - Parameters:
  ///   - name: the port's name in the log
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
