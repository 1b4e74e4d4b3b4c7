import CLinux
import Glibc
import TestSupport

/// The answer to one request on a connection of its own. The caller waits in the kernel until the server has sent all.
struct HTTPAnswer {
  let status: Int
  let head: String
  let body: String
  let bodyByteCount: Int

  /// - Parameters:
  ///   - headers: the headers; `Host` is added if it is missing
  ///   - content: the body of the request
  ///   - limit: how long the server may take to continue its answer
  init(
    _ port: UInt16, _ method: String, _ path: String, _ headers: [String] = [], body content: String = "",
    host: String = "localhost", asksToClose: Bool = true, within limit: Duration = .seconds(180)
  ) {
    let named = headers.contains { $0.hasPrefix("Host:") } ? [] : ["Host: \(host)"]
    let lines =
      ["\(method) \(path) HTTP/1.1"] + named + headers + (asksToClose ? ["Connection: close"] : []) + ["", ""]
    let connection = SocketClient.connect(port: port)
    defer { close(connection) }
    var patience = timeval(tv_sec: Int(limit.components.seconds), tv_usec: 0)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(connection, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
    }
    HTTPAnswer.send(Array((lines.joined(separator: "\r\n") + content).utf8), to: connection)
    let (head, body) = HTTPAnswer.receive(from: connection)
    self.head = String(decoding: head, as: UTF8.self)
    self.body = String(decoding: body, as: UTF8.self)
    bodyByteCount = body.count
    status = Int(self.head.split(separator: " ").dropFirst().first ?? "") ?? 0
  }

  private static func send(_ bytes: [UInt8], to connection: Int32) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Reads until the server closes, or until the length that it announces: not every server closes when it is asked to.
  private static func receive(from connection: Int32) -> (head: [UInt8], body: [UInt8]) {
    var head: [UInt8]?
    var bytes: [UInt8] = []
    var length = Int.max
    var chunk = [UInt8](repeating: 0, count: 65536)
    while head == nil || bytes.count < length {
      let count = recv(connection, &chunk, chunk.count, 0)
      guard count > 0 else { break }
      bytes += chunk[..<count]
      guard head == nil, let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { continue }
      head = Array(bytes[..<end.lowerBound])
      length = contentLength(String(decoding: bytes[..<end.lowerBound], as: UTF8.self)) ?? .max
      bytes = Array(bytes[end.upperBound...])
    }
    guard let head else { return (bytes, []) }
    return (head, bytes)
  }

  private static func contentLength(_ head: String) -> Int? {
    head.lowercased().split(separator: "content-length:").dropFirst().first
      .flatMap { Int($0.drop { $0 == " " }.prefix { $0.isNumber }) }
  }
}
