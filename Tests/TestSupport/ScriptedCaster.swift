import CLinux
import Glibc
import Guarding
import HardwareIO

/// An NTRIP caster on this machine that a test tells what to say.
public final class ScriptedCaster: Sendable {
  /// Somebody who has come, and has asked for something.
  public struct Visit: Sendable {
    /// The head of the request.
    public let request: String
    private let client: SocketClient

    fileprivate init(_ client: SocketClient) {
      self.client = client
      request = ScriptedCaster.head(of: client.text) ?? ""
    }

    public var path: String { request.split(separator: " ").dropFirst().first.map(String.init) ?? "" }
    /// What came behind the request.
    public var told: String { String(client.text.dropFirst(request.count)) }
    /// He has not gone.
    public var isOpen: Bool { client.isOpen }

    public func send(_ bytes: [UInt8]) { client.send(bytes) }
    public func send(_ text: String) { client.send(text) }
    public func close() { client.leave() }
  }

  public let port: UInt16
  public let visits = Recorder<Visit>()
  private let stop = StopSignal()

  /// - Parameter answer: called on a thread of the caster's with each visit
  public init(answering answer: @escaping @Sendable (Visit) -> Void = { _ in }) {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    // Any port that is free: it is not given away before this one lets go of it.
    let isListening =
      clinux_bind_tcp(listener, [127, 0, 0, 1], 4, 0) == 0 && listen(listener, 16) == 0
      && withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &size) == 0 }
      }
    precondition(isListening, "no port to be had")
    port = UInt16(bigEndian: address.sin_port)
    let (visits, poller) = (visits, Poller(stop: stop.fileDescriptor))
    let error = DetachedThread.start("scripted caster") { [stop] in
      while poller.wait(for: listener) == .readable {
        let descriptor = clinux_accept(listener)
        guard descriptor >= 0 else { continue }
        let client = SocketClient(accepted: descriptor)
        hold { ScriptedCaster.head(of: client.text) != nil || !client.isOpen || stop.isSet }
        let visit = Visit(client)
        visits.append(visit)
        answer(visit)
      }
      Glibc.close(listener)
    }
    precondition(error == 0, "no thread to be had")
  }

  deinit { end() }

  /// Nobody is let in any more, and everybody is sent away.
  public func end() {
    stop.set()
    for visit in visits.values { visit.close() }
  }

  private static func head(of text: String) -> String? {
    text.firstRange(of: "\r\n\r\n").map { String(text[..<$0.upperBound]) }
  }
}
