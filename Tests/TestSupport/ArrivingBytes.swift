import CLinux
import Glibc
import Guarding

/// The bytes that another process or the other end of a socket has written. A thread that waits for some of them
/// is woken by each arrival and by the end. So waiting costs nothing in between, and stops when the writer has gone.
public final class ArrivingBytes: Sendable {
  private struct State: Sendable {
    var bytes: [UInt8] = []
    var lineCount = 0
    var isOpen = true
    var waiting: [ObjectIdentifier: WakeSignal] = [:]
  }
  private let state = Guarded(State())

  public init() {}

  public var bytes: [UInt8] { state.withLock { $0.bytes } }
  public var text: String { String(decoding: bytes, as: UTF8.self) }
  public var lineCount: Int { state.withLock { $0.lineCount } }
  /// Whether the writer has not closed its end.
  public var isOpen: Bool { state.withLock { $0.isOpen } }

  public func append(_ chunk: some Collection<UInt8> & Sendable) {
    let lines = chunk.count { $0 == 10 }
    state.withLock { state in
      state.bytes += chunk
      state.lineCount += lines
      for signal in state.waiting.values { signal.raise() }
    }
  }

  public func forget() {
    state.withLock { state in
      state.bytes = []
      state.lineCount = 0
    }
  }

  /// Records that the writer has closed. `close` runs under the lock of `whileOpen`.
  public func end(_ close: () -> Void = {}) {
    state.withLock { state in
      state.isOpen = false
      close()
      for signal in state.waiting.values { signal.raise() }
    }
  }

  /// Runs `body` unless the writer has closed. The writer cannot close during the call, because the number of a closed
  /// descriptor may soon belong to another file.
  public func whileOpen<Result>(_ body: () -> Result) -> Result? { state.withLock { $0.isOpen ? body() : nil } }

  /// Whether `text` is among the received bytes, without copying them.
  public func has(_ text: String) -> Bool {
    let mark = Array(text.utf8)
    return state.withLock { ArrivingBytes.contains(mark, in: $0.bytes, from: 0) }
  }

  /// Waits until `text` has arrived. Returns false if the writer has closed without it, or after the limit, which only
  /// keeps a failing test from waiting forever.
  public func waits(for text: String, within limit: Duration = .seconds(180)) -> Bool {
    let mark = Array(text.utf8)
    var searchedCount = 0
    return outcome(within: limit) { state in
      // Bytes that were searched before are not searched again, except for the beginning of a mark at their end.
      let start = state.bytes.count < searchedCount ? 0 : max(0, searchedCount - mark.count + 1)
      searchedCount = state.bytes.count
      if ArrivingBytes.contains(mark, in: state.bytes, from: start) { return true }
      return state.isOpen ? nil : false
    }
  }

  /// Waits until `count` lines have arrived. Returns false if the writer has closed without them, or after the limit.
  public func waits(forLines count: Int, within limit: Duration = .seconds(180)) -> Bool {
    outcome(within: limit) { $0.lineCount >= count ? true : $0.isOpen ? nil : false }
  }

  /// Waits until the writer has closed. Returns false after the limit.
  public func waitsForEnd(within limit: Duration = .seconds(180)) -> Bool {
    outcome(within: limit) { $0.isOpen ? nil : true }
  }

  /// Waits until a condition holds, which is checked at once, after each arrival and after the end. Returns false if the
  /// writer has closed without it, or after the limit.
  public func waits(within limit: Duration = .seconds(180), until isMet: () throws -> Bool) rethrows -> Bool {
    try outcome(within: limit) {
      let isOver = !isOpen
      return try isMet() ? true : isOver ? false : nil
    }
  }

  private func outcome(within limit: Duration, _ look: (State) -> Bool?) -> Bool {
    outcome(within: limit) { state.withLock { look($0) } }
  }

  /// Calls `look` once, and again after each arrival and after the end, until it returns an outcome. Returns false
  /// after the limit.
  private func outcome(within limit: Duration, _ look: () throws -> Bool?) rethrows -> Bool {
    let clock = ContinuousClock()
    let deadline = clock.now + limit
    let signal = WakeSignal()
    state.withLock { $0.waiting[ObjectIdentifier(signal)] = signal }
    defer { state.withLock { _ = $0.waiting.removeValue(forKey: ObjectIdentifier(signal)) } }
    while true {
      signal.clear()
      if let outcome = try look() { return outcome }
      let rest = deadline - clock.now
      guard rest > .zero else { return false }
      var poll = pollfd(fd: signal.fileDescriptor, events: Int16(POLLIN), revents: 0)
      _ = Glibc.poll(&poll, 1, Int32(rest.components.seconds * 1000 + 1))
    }
  }

  private static func contains(_ mark: [UInt8], in bytes: [UInt8], from start: Int) -> Bool {
    guard let first = mark.first else { return true }
    return bytes.withUnsafeBytes { bytes in
      var rest = bytes[start...]
      while rest.count >= mark.count, let base = UnsafeRawBufferPointer(rebasing: rest).baseAddress,
        let next = memchr(base, Int32(first), rest.count - mark.count + 1)
      {
        if memcmp(next, mark, mark.count) == 0 { return true }
        rest = rest.dropFirst(UnsafeRawPointer(next) - base + 1)
      }
      return false
    }
  }
}
