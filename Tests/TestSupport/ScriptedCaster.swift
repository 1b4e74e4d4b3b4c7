import CLinux
import Glibc
import Guarding
import HardwareIO

/// An NTRIP caster on this machine that sends what a test specifies.
public final class ScriptedCaster: Sendable {
  /// A client and its request.
  public struct Visit: Sendable {
    /// The header of the request.
    public let request: String
    private let client: SocketClient

    fileprivate init(_ client: SocketClient) {
      self.client = client
      request = ScriptedCaster.head(of: client.text) ?? ""
    }

    public var path: String { request.split(separator: " ").dropFirst().first.map(String.init) ?? "" }
    /// The text after the request.
    public var told: String { String(client.text.dropFirst(request.count)) }
    /// Waits for lines after the request. Returns false if the client disconnects first.
    public func receives(lineCount count: Int) -> Bool {
      client.receives(lineCount: request.count { $0.isNewline } + count)
    }
    /// Whether the client has not disconnected.
    public var isOpen: Bool { client.isOpen }
    /// Waits until the client has gone. Returns whether it has before the deadline of a test.
    public func waitsForEnd() -> Bool { client.waitsForEnd() }

    public func send(_ bytes: [UInt8]) { client.send(bytes) }
    public func send(_ text: String) { client.send(text) }
    public func close() { client.leave() }
  }

  public let visits = Recorder<Visit>()
  private let server: ScriptedServer
  public var port: UInt16 { server.port }

  /// - Parameter answer: called on a thread of the caster with each visit
  public init(answering answer: @escaping @Sendable (Visit) -> Void = { _ in }) {
    let visits = visits
    server = ScriptedServer { client in
      hold { ScriptedCaster.head(of: client.text) != nil || !client.isOpen }
      let visit = Visit(client)
      visits.append(visit)
      answer(visit)
    }
  }

  /// Accepts no further visit, and ends the present ones.
  public func end() { server.end() }

  private static func head(of text: String) -> String? {
    text.firstRange(of: "\r\n\r\n").map { String(text[..<$0.upperBound]) }
  }
}
