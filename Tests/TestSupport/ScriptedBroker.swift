import CLinux
import Glibc
import Guarding
import HardwareIO

/// An MQTT broker on this machine that sends whatever a test specifies, valid or not.
public final class ScriptedBroker: Sendable {
  /// A client that has connected and sent CONNECT.
  public struct Visit: Sendable {
    /// The number of earlier visits.
    public let number: Int
    private let client: SocketClient

    fileprivate init(_ client: SocketClient, number: Int) {
      self.client = client
      self.number = number
    }

    /// The packets that the client has sent, beginning with CONNECT.
    public var said: [UInt8] { client.bytes }
    /// Whether the client has not disconnected.
    public var isOpen: Bool { client.isOpen }

    /// Sends everything, or as much as the client accepts before it disconnects.
    public func send(_ bytes: [UInt8]) { client.send(bytes) }
    public func close() { client.leave() }
    /// Lets the client read everything up to the end of the connection, and waits for it to close. An immediate close
    /// would discard unread bytes.
    public func end() {
      client.finish()
      hold { !client.isOpen }
    }
  }

  /// The packet CONNACK, which accepts the client (MQTT 5, 3.2).
  public static let accepted: [UInt8] = [0x20, 3, 0, 0, 0]

  /// Makes a packet with its correct length (MQTT 5, 2.1).
  public static func packet(_ head: UInt8, _ body: [UInt8]) -> [UInt8] { [head] + length(body.count) + body }

  /// Encodes a variable byte integer (MQTT 5, 1.5.5).
  public static func length(_ count: Int) -> [UInt8] {
    count < 128 ? [UInt8(count)] : [UInt8(count % 128) | 0x80] + length(count / 128)
  }

  public let port: UInt16
  /// Only the last visit is kept, because a hostile broker has thousands.
  private let visits = Recorder<Visit>()
  private let stop = StopSignal()

  /// - Parameters:
  ///   - port: 0 for any free port
  ///   - isGreeting: whether `answer` is called before the client has sent CONNECT
  ///   - answer: called on a thread of the broker with each visit; the next client is accepted when it returns
  public init(
    port: UInt16 = 0, isGreeting: Bool = false, answering answer: @escaping @Sendable (Visit) -> Void
  ) {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var isReused: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &isReused, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening =
      clinux_bind_tcp(listener, [127, 0, 0, 1], 4, port) == 0 && listen(listener, 16) == 0
      && withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &size) == 0 }
      }
    precondition(isListening, "cannot listen on a port")
    self.port = UInt16(bigEndian: address.sin_port)
    let (visits, poller) = (visits, Poller(stop: stop.fileDescriptor))
    let error = DetachedThread.start("scripted broker") { [stop] in
      var number = 0
      // Connections may come faster than they are accepted, for example from a test that waits for the end.
      while !stop.isSet, poller.wait(for: listener) == .readable {
        let descriptor = clinux_accept(listener)
        guard descriptor >= 0 else { continue }
        let client = SocketClient(accepted: descriptor)
        let visit = Visit(client, number: number)
        number += 1
        visits.removeAll()
        visits.append(visit)
        if stop.isSet { visit.close() }
        hold { isGreeting || ScriptedBroker.hasConnect(client.bytes) || !client.isOpen || stop.isSet }
        answer(visit)
      }
      Glibc.close(listener)
    }
    precondition(error == 0, "cannot start a thread")
  }

  deinit { end() }

  /// Accepts no further client, and disconnects the last one.
  public func end() {
    stop.set()
    for visit in visits.values { visit.close() }
  }

  private static func hasConnect(_ bytes: [UInt8]) -> Bool {
    guard bytes.first == 0x10 else { return false }
    var (count, shift, index) = (0, 0, 1)
    while index < bytes.count, index < 5 {
      count |= Int(bytes[index] & 0x7f) << shift
      shift += 7
      index += 1
      if bytes[index - 1] & 0x80 == 0 { return bytes.count >= index + count }
    }
    return false
  }
}
