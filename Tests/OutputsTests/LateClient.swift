import CLinux
import Glibc

@testable import Outputs

/// The other end of a client's connection.
final class LateClient {
  let connection: StreamConnection
  private let descriptor: Int32

  init() {
    var ends: [Int32] = [0, 0]
    precondition(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    descriptor = ends[1]
    connection = StreamConnection(
      descriptor: ends[0], peer: ClientPeer(by: "visitor"), traffic: OutputTraffic().gpsd, wantsToWrite: {})
  }

  deinit {
    connection.close()
    close(descriptor)
  }

  func say(_ text: String, to session: any StreamSession) {
    Array(text.utf8).withUnsafeBufferPointer(session.receive)
  }

  /// All bytes that have been received until now.
  private var received: [UInt8] = []

  var lines: [String] {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT)), count > 0 {
      received += buffer[..<count]
    }
    return String(decoding: received, as: UTF8.self).split(whereSeparator: \.isNewline).map(String.init)
  }

  /// Returns the seconds of a clock or duration in a line, or `nil` if it has none.
  ///
  /// - Parameter count: the number of characters after `key` in which they end
  static func seconds(_ line: String, behind key: String, _ count: Int) -> Int? {
    number(line, behind: key, count).map { Int($0.rounded()) % 100 }
  }

  /// Returns the seconds of a minute or a clock in a line, with decimals.
  static func number(_ line: String, behind key: String, _ count: Int) -> Double? {
    guard let range = line.firstRange(of: key) else { return nil }
    let text = line[range.upperBound...].prefix(count)
    return text.split(separator: ":").last.flatMap { Double($0.prefix { $0.isNumber || $0 == "." }) }
  }
}
