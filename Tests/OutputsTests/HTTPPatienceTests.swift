import CLinux
import Glibc
import Hub
import Hummingbird
import MonotonicTime
import NIOCore
import NIOPosix
import Publishing
import TestSupport
import Testing

@testable import Outputs

/// Slow clients of a web port, over real connections.
@Suite(.serialized, .timeLimit(.minutes(10))) struct HTTPPatienceTests {
  private static let documentByteCount = 600_000

  /// A web port with a document of some size.
  private final class Port {
    /// The clock of the connections' limits.
    let clock = ManualClock()
    let number = SocketClient.freePort()
    let traffic = OutputTraffic()
    let log = Recorder<String>()
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let lifetime = Lifetime()
    private let serving: HTTPServing

    init(patience: ConnectionPatience.Limits) throws {
      let board = try Board(json5: Array("{ name: \"test\", http: { port: \(number) } }".utf8), file: "test")
      let sink = JournalSink(to: Nowhere())
      sink.observe { [log] in log.append($0.message) }.store(in: lifetime)
      let document = ByteBuffer(repeating: UInt8(ascii: "x"), count: HTTPPatienceTests.documentByteCount)
      serving = HTTPServing(
        "dashboard", .init(port: try #require(board.http)), places: 100, patience: patience,
        timer: ConnectionTimer(clock), traffic: traffic, sink: sink, on: group
      ) { _ in
        [
          HTTPRoute(.get, "whole") { _, _ in Response(status: .ok, body: ResponseBody(byteBuffer: document)) },
          HTTPRoute(.get, "pieces") { _, _ in
            let body = ResponseBody(contentLength: document.readableBytes) { writer in
              var rest = document
              while let piece = rest.readSlice(length: min(50_000, rest.readableBytes)), piece.readableBytes > 0 {
                try await writer.write(piece)
              }
              try await writer.finish(nil)
            }
            return Response(status: .ok, body: body)
          },
        ]
      }
    }

    /// Lets time pass until a condition holds, however late the server begins to count it.
    func passes(until isMet: () -> Bool) -> Bool {
      eventually {
        if isMet() { return true }
        clock.advance(by: .milliseconds(100))
        return false
      }
    }

    /// Lets time pass, and waits until the server has made the checks that are due.
    func pass(_ duration: Duration) async throws {
      clock.advance(by: duration)
      try await group.next().submit {}.get()
    }

    func end() async {
      await serving.end()
      lifetime.end()
      try? await group.shutdownGracefully()
    }
  }

  private struct Nowhere: LogDestination {
    func write(_ entry: LogEntry) {}
  }

  /// A connection with small buffers at its own end, so that unread bytes are not sent.
  private final class Reader {
    private let descriptor: Int32
    private(set) var byteCount = 0
    private(set) var isOver = false

    init(_ port: UInt16) {
      var connected: Int32 = -1
      // The port opens on a thread of the server, and only the kernel knows whether it is open.
      _ = eventually {
        connected = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var room: Int32 = 4096
        setsockopt(connected, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size))
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        name.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let result = withUnsafePointer(to: &name) { pointer in
          pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            Glibc.connect(connected, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
          }
        }
        if result != 0 { close(connected) }
        return result == 0
      }
      descriptor = connected
    }

    deinit { close(descriptor) }

    func send(_ text: String) {
      let bytes = Array(text.utf8)
      _ = clinux_send_now(descriptor, bytes, bytes.count)
    }

    func ask(for path: String) { send("GET /\(path) HTTP/1.1\r\nHost: localhost\r\n\r\n") }

    /// Waits for bytes and reads at most this number.
    func take(_ count: Int) {
      var bytes = [UInt8](repeating: 0, count: count)
      let received = recv(descriptor, &bytes, count, 0)
      byteCount += max(received, 0)
      isOver = received <= 0
    }

    /// Reads until this number of bytes has arrived in total, or the other end closes.
    func take(until total: Int) { while !isOver, byteCount < total { take(4096) } }

    /// Reads the bytes that have arrived, without waiting.
    func takeArrived() {
      var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      while !isOver, poll(&event, 1, 0) > 0 { take(65536) }
    }

    /// Reads until the other end closes.
    func takeAll() { while !isOver { take(65536) } }
  }

  @Test(arguments: ["whole", "pieces"]) func `an answer that takes several times the limit is delivered completely`(
    _ path: String
  )
    async throws
  {
    let port = try Port(patience: .init(silence: .seconds(1), answer: .seconds(1), stream: .seconds(1)))
    let began = port.clock.now
    let reader = Reader(port.number)
    reader.ask(for: path)
    // The kernel's buffers hold about 140 kB. Of two portions, the server therefore sends at least a part, and that is
    // within two checks.
    for portion in 1...6 {
      reader.take(until: portion * HTTPPatienceTests.documentByteCount / 6)
      try await port.pass(.milliseconds(600))
    }
    #expect(reader.byteCount >= HTTPPatienceTests.documentByteCount, "\(reader.byteCount) bytes: \(port.log.values)")
    #expect(port.clock.now - began > .seconds(3))
    #expect(!port.log.values.contains { $0.contains("cut off") })
    await port.end()
  }

  @Test(arguments: ["whole", "pieces"]) func `a client that stops receiving is disconnected, and this is logged`(
    _ path: String
  ) async throws {
    let port = try Port(patience: .init(silence: .seconds(600), answer: .milliseconds(400), stream: .seconds(600)))
    let reader = Reader(port.number)
    reader.ask(for: path)
    reader.take(4096)
    let began = port.clock.now
    #expect(port.passes { port.log.values.contains { $0.contains(" of its answer left (it has stopped reading)") } })
    #expect(port.clock.now - began >= .milliseconds(400))
    #expect(port.log.values.contains { $0.hasPrefix("dashboard: 127.0.0.1:") })
    #expect(port.traffic.http.clientCounts.waits { $0 == 0 })
    reader.takeAll()
    #expect(reader.byteCount < HTTPPatienceTests.documentByteCount)
    await port.end()
  }

  @Test(arguments: [
    "", "GET /whole HTTP/1.1\r\nHost: local", "GET /other HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nabc",
  ])
  func `a client without a complete request is disconnected without a log line`(_ words: String) async throws {
    let port = try Port(patience: .init(silence: .milliseconds(400), answer: .seconds(600), stream: .seconds(600)))
    let reader = Reader(port.number)
    reader.send(words)
    #expect(
      port.passes {
        reader.takeArrived()
        return reader.isOver
      })
    #expect(reader.byteCount < HTTPPatienceTests.documentByteCount)
    #expect(port.traffic.http.clientCounts.waits { $0 == 0 })
    #expect(!port.log.values.contains { $0.contains("cut off") })
    await port.end()
  }

  @Test func `a connection can be used for several requests`() async throws {
    let port = try Port(patience: .init(silence: .seconds(600), answer: .seconds(600), stream: .seconds(600)))
    let reader = Reader(port.number)
    for round in 1...3 {
      reader.ask(for: "whole")
      while !reader.isOver, reader.byteCount < round * HTTPPatienceTests.documentByteCount { reader.take(65536) }
      #expect(!reader.isOver)
    }
    await port.end()
  }
}
