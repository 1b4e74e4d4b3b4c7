import TestSupport

/// The answer to one request on a connection of its own.
struct HTTPAnswer {
  let status: Int
  let head: String
  let body: String
  let bodyByteCount: Int

  /// - Parameters:
  ///   - headers: the headers; `Host` is added if it is missing
  ///   - content: the body of the request
  ///   - limit: how long the answer may take
  init(
    _ port: UInt16, _ method: String, _ path: String, _ headers: [String] = [], body content: String = "",
    host: String = "localhost", asksToClose: Bool = true, within limit: Duration = .seconds(180)
  ) {
    let client = SocketClient(port: port)
    let named = headers.contains { $0.hasPrefix("Host:") } ? [] : ["Host: \(host)"]
    let lines =
      ["\(method) \(path) HTTP/1.1"] + named + headers + (asksToClose ? ["Connection: close"] : []) + ["", ""]
    client.send(Array((lines.joined(separator: "\r\n") + content).utf8))
    // Not every server closes when it is asked to.
    _ = eventually(within: limit) { !client.isOpen || HTTPAnswer.isWhole(client.bytes) }
    let parts = HTTPAnswer.parts(client.bytes)
    head = String(decoding: parts.head, as: UTF8.self)
    body = String(decoding: parts.body, as: UTF8.self)
    bodyByteCount = parts.body.count
    status = Int(head.split(separator: " ").dropFirst().first ?? "") ?? 0
  }

  private static func parts(_ bytes: [UInt8]) -> (head: ArraySlice<UInt8>, body: ArraySlice<UInt8>) {
    let end = Array("\r\n\r\n".utf8)
    let start = bytes.indices.first { bytes[$0...].starts(with: end) } ?? bytes.endIndex
    return (bytes[..<start], bytes[min(start + end.count, bytes.endIndex)...])
  }

  private static func isWhole(_ bytes: [UInt8]) -> Bool {
    let (head, body) = parts(bytes)
    let length = String(decoding: head, as: UTF8.self).lowercased().split(separator: "content-length:").dropFirst()
      .first
    return length.flatMap { Int($0.drop { $0 == " " }.prefix { $0.isNumber }) }.map { body.count >= $0 } ?? false
  }
}
