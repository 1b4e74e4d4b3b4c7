import CLinux
import FoundationEssentials
import Fusion
import Glibc
import Guarding
import Publishing

/// One connection to the state socket: a subscription that lives as long as the connection.
///
/// Lines are written by the thread that brings the state, without waiting. What does not fit waits, at most
/// `queueLimit` lines, the newest kept: a client that does not read loses states and delays nobody.
final class StreamClient: Sendable {
  private static let queueLimit = 8

  private struct State: ~Copyable {
    /// The latest line; its memory is used again for the next.
    var json = JSONWriter(capacity: 1024)
    /// The rest of a line of which a part has been written: it must follow, whatever is dropped.
    var partial: [UInt8] = []
    var queue: [[UInt8]] = []
    var droppedCount = 0
    var subscription: Subscription?
    var isClosed = false
  }

  let descriptor: Int32
  private let peer: String
  private let host: HubHost
  private let wantsToWrite: @Sendable () -> Void
  private let state = Guarded(State())
  private let request = Guarded<[UInt8]>([])

  /// - Parameter wantsToWrite: called when something waits that could not be written at once
  init(descriptor: Int32, host: HubHost, wantsToWrite: @escaping @Sendable () -> Void) {
    self.descriptor = descriptor
    self.host = host
    self.wantsToWrite = wantsToWrite
    peer = UnixSocket.peerName(descriptor)
  }

  /// What a client may ask for, a JSON object to a line: `{"rateHz": 5, "name": "watch"}`.
  private struct Request: Decodable {
    var rateHz: Double?
    var name: String?
  }

  func start() { subscribe(as: peer, rateHz: nil) }

  private func subscribe(as name: String, rateHz: Double?) {
    let new = host.state(rateHz: rateHz).subscribe(as: name, receiveValue: { [weak self] in self?.send($0) })
    let (old, isTooLate) = state.withLock { state in
      let old = state.subscription
      if !state.isClosed { state.subscription = new }
      return (old, state.isClosed)
    }
    // The new subscription stands before the old one goes: changing the rate is no reason for a power cycle.
    old?.cancel()
    if isTooLate { new.cancel() }
  }

  var hasOutput: Bool { state.withLock { !$0.partial.isEmpty || !$0.queue.isEmpty } }

  private func send(_ value: FusedState) {
    let mustWait = state.withLock { state in
      guard !state.isClosed else { return false }
      state.json.removeAll()
      StateReport.write(value, to: &state.json)
      if state.partial.isEmpty, state.queue.isEmpty {
        let bytes = state.json.bytes
        let count = max(clinux_send_now(descriptor, bytes.baseAddress, bytes.count), 0)
        state.partial = Array(bytes.dropFirst(count))
        return !state.partial.isEmpty
      }
      while state.queue.count >= StreamClient.queueLimit {
        state.queue.removeFirst()
        state.droppedCount += 1
      }
      state.queue.append(Array(state.json.bytes))
      return false
    }
    if mustWait { wantsToWrite() }
  }

  /// The socket takes bytes again; returns whether the client is still there.
  func writeWaiting() -> Bool {
    state.withLock { state in
      while !state.isClosed {
        if state.partial.isEmpty {
          if state.queue.isEmpty { return true }
          state.partial = state.queue.removeFirst()
        }
        let count = state.partial.withUnsafeBytes { clinux_send_now(descriptor, $0.baseAddress, $0.count) }
        // A client that has shut down its reading end only shows here.
        if count < 0 { return errno == EAGAIN || errno == EINTR }
        state.partial.removeFirst(count)
      }
      return true
    }
  }

  /// Reads what the client asks for; returns whether it is still there.
  func readRequests() -> Bool {
    var chunk = InlineArray<512, UInt8>(repeating: 0)
    let count = withUnsafeMutableBytes(of: &chunk) { clinux_receive_now(descriptor, $0.baseAddress, $0.count) }
    if count == 0 { return false }
    if count < 0 { return errno == EAGAIN || errno == EINTR }
    let lines = request.withLock { request -> [[UInt8]] in
      for index in 0..<count { request.append(chunk[index]) }
      var lines: [[UInt8]] = []
      while let end = request.firstIndex(of: UInt8(ascii: "\n")) {
        lines.append(Array(request[..<end]))
        request.removeFirst(end + 1)
      }
      // A request is short; what grows without an end is none.
      if request.count > 4096 { request = [] }
      return lines
    }
    for line in lines where !line.isEmpty { serve(line) }
    return true
  }

  private func serve(_ line: [UInt8]) {
    guard let request = try? JSONDecoder().decode(Request.self, from: Data(line)),
      request.rateHz.map({ (0.01...1000).contains($0) }) ?? true
    else {
      let answer = #"{"class":"ERROR","message":"send {\"rateHz\": 0.01 to 1000, \"name\": \"who you are\"}"}"# + "\n"
      // Bound like the states: who sends nonsense and does not read gets no memory for it.
      state.withLock { if $0.queue.count < StreamClient.queueLimit { $0.queue.append(Array(answer.utf8)) } }
      _ = writeWaiting()
      return
    }
    let pid = peer.drop { $0 != "[" }
    subscribe(as: request.name.map { "\($0.prefix(40))\(pid)" } ?? peer, rateHz: request.rateHz)
  }

  func close() {
    let subscription = state.withLock { state in
      state.isClosed = true
      defer { state.subscription = nil }
      return state.subscription
    }
    subscription?.cancel()
    Glibc.close(descriptor)
  }
}
