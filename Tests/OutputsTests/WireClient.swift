import CLinux
import FoundationEssentials
import Glibc
import MonotonicTime
import TestSupport

/// A client of a real socket that reads only while the test waits for bytes, on the test's thread.
final class WireClient {
  /// The longest wait, which only keeps a failing test from waiting for ever.
  private static let limit = Duration.seconds(180)

  private let descriptor: Int32
  private var received: [UInt8] = []
  private var hasEnded = false

  /// - Parameter isNamed: whether the client's socket has a name, which tells the hub that a request follows
  init(path: String, isNamed: Bool = false) { descriptor = SocketClient.connect(path: path, isNamed: isNamed) }

  init(port: UInt16) { descriptor = SocketClient.connect(port: port) }

  deinit { close(descriptor) }

  /// Disconnects. Bytes that have arrived can still be read.
  func leave() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// Sends everything, and waits while the hub reads it.
  func send(_ text: String) { send(Array(text.utf8)) }

  func send(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Sends the bytes that the hub accepts at once. The rest is lost.
  func sendNow(_ bytes: [UInt8]) { _ = clinux_send_now(descriptor, bytes, bytes.count) }

  /// The text that was read, without bytes that have arrived since.
  var text: String { String(decoding: received, as: UTF8.self) }

  /// The complete lines that were read.
  var lines: [Substring] {
    text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).dropLast().filter { !$0.isEmpty }
  }

  /// Forgets the text that was read, and that has arrived.
  func forget() {
    takeArrived()
    received = []
  }

  /// Reads until the text meets a condition. Returns false if the hub closes the connection first, or after the limit.
  func reads(until isMet: () throws -> Bool) rethrows -> Bool {
    let clock = MonotonicClock()
    let deadline = clock.now + WireClient.limit
    takeArrived()
    while try !isMet() {
      guard !hasEnded, waits(atMost: deadline - clock.now) else { return false }
      takeArrived()
    }
    return true
  }

  /// Reads until the text contains `text`.
  func receives(_ text: String) -> Bool {
    let mark = Array(text.utf8)
    return reads { received.firstRange(of: mark) != nil }
  }

  /// Reads until the hub closes the connection. Returns false after the limit.
  func waitsForEnd() -> Bool {
    _ = reads { false }
    return hasEnded
  }

  /// Whether the hub has not closed the connection.
  var isOpen: Bool {
    takeArrived()
    return !hasEnded
  }

  /// Reads what has arrived.
  func takeArrived() {
    var chunk = [UInt8](repeating: 0, count: 65536)
    while !hasEnded {
      let count = clinux_receive_now(descriptor, &chunk, chunk.count)
      if count > 0 {
        received += chunk[..<count]
      } else if count == 0 || errno != EAGAIN && errno != EINTR {
        hasEnded = true
      } else if errno == EAGAIN {
        return
      }
    }
  }

  private func waits(atMost limit: Duration) -> Bool {
    guard limit > .zero else { return false }
    var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&event, 1, Int32(limit.components.seconds * 1000 + 1)) > 0
  }
}

/// A report in the gpsd protocol.
struct ClientReport: Decodable {
  var `class`: String
  var device, path, time, activated: String?
  var mode, active, status: Int?
  var lat, lon, cycle: Double?
}

extension WireClient {
  /// The complete reports of a class that were read; `nil` for all classes.
  func reports(_ name: String? = nil) -> [ClientReport] {
    lines.compactMap { line in
      guard name == nil || line.hasPrefix("{\"class\":\"\(name ?? "")\"") else { return nil }
      return try? JSONDecoder().decode(ClientReport.self, from: Data(line.utf8))
    }
  }

  /// Requests a watch of the gpsd protocol with these members besides `enable`.
  func watch(_ members: String = #""json":true"#) { send("?WATCH={\"enable\":true,\(members)};") }
}
