import CLinux
import Glibc
import MonotonicTime
import TestSupport
import Testing

/// One client that uses all its limits leaves room for others.
@Suite(.serialized, .timeLimit(.minutes(10))) struct StreamLimitTests {
  private let port = SocketClient.freePort()
  private let hub: HubProcess

  init() {
    WireClient.allowCrowds()
    hub = HubProcess(board: HubProcess.simulatedBoard("http: { port: \(port) }"))
    let hub = hub
    _ = hub.logs("dashboard on")
  }

  private func get(_ path: String) -> HTTPAnswer { HTTPAnswer(port, "GET", path) }

  private func value(_ metric: String) -> Int {
    let lines = get("/metrics").body.split(separator: "\n").filter { $0.hasPrefix("sensorhub_" + metric + " ") }
    return lines.first.flatMap { Int($0.split(separator: " ")[1]) } ?? -1
  }

  private func count(_ text: String) -> Int {
    hub.program.standardError.split(separator: "\n").count { $0.contains(text) }
  }

  /// Opens clients that request events, and read no more than the beginning of the answer.
  private static func streams(_ count: Int, of port: UInt16, _ query: String = "rate=0.1") -> [Int32] {
    let request = Array("GET /events?\(query) HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
    return (0..<count).map { _ in
      let descriptor = SocketClient.connect(port: port)
      _ = request.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      return descriptor
    }
  }

  /// Waits for the beginning of the answer to each client. Returns the number of those that were refused.
  private static func refusedCount(_ streams: some Sequence<Int32>) -> Int {
    let served = Array("HTTP/1.1 200".utf8)
    return streams.count { descriptor in
      var beginning = [UInt8](repeating: 0, count: served.count)
      return recv(descriptor, &beginning, beginning.count, Int32(MSG_WAITALL)) < served.count
        || beginning != served
    }
  }

  @Test func `eleven hundred event streams still leave room for short requests`() {
    // All slots count equally, whatever the request. Most of these clients request only fences, because each further
    // client that keeps devices awake divides the energy among all clients again. With a thousand of them, that takes a
    // processor half a minute.
    var streams = StreamLimitTests.streams(64, of: port)
    defer { for descriptor in streams { close(descriptor) } }
    // The other clients come in groups, each after the previous group is served. If all came at once, a busy hub would
    // close some of them to make room before it has read their requests.
    #expect(StreamLimitTests.refusedCount(streams) == 0)
    while streams.count < 1115 {
      let known = streams.count
      streams += StreamLimitTests.streams(min(32, 1115 - known), of: port, "only=fence")
      let refused = StreamLimitTests.refusedCount(streams[known...])
      #expect(refused == max(0, streams.count - 1024) - max(0, known - 1024))
    }
    #expect(value("output_clients{output=\"events\"}") == 1024)
    #expect(value("output_refused_clients_total{output=\"events\"}") == 1115 - 1024)
    #expect(get("/healthz").body == "ok\n")
    #expect(get("/devices").body.contains("\"class\":\"DEVICES\""))
    let late = get("/events")
    #expect(late.status == 503 && late.head.contains("Retry-After: 10"), "\(late.head)")
    #expect(late.head.contains("Content-Type: application/json") && late.body.contains("1024 event streams"))
    #expect(value("output_refused_clients_total{output=\"events\"}") == 1115 - 1024 + 1)
    #expect(hub.logs("event streams are refused") && count("event streams are refused") == 1)
    // A released slot is available to other clients.
    shutdown(streams[0], Int32(SHUT_RDWR))
    #expect(eventually { value("output_clients{output=\"events\"}") == 1023 })
    let next = SocketClient(port: port)
    next.send("GET /events?rate=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    #expect(next.receives("retry: 2000"))
    #expect(count("event streams are refused") == 1)
  }

  @Test func `with few file descriptors, event streams leave some to everything else`() {
    let port = SocketClient.freePort()
    let hub = ShellHub("ulimit -n 256; exec \"$@\"", board: HubProcess.simulatedBoard("http: { port: \(port) }"))
    #expect(hub.logs("dashboard on"))
    let streams = StreamLimitTests.streams(300, of: port)
    defer { for descriptor in streams { close(descriptor) } }
    #expect(hub.logs("event streams are refused"))
    #expect(HTTPAnswer(port, "GET", "/healthz").body == "ok\n")
    #expect(hub.logs("gps: settling ("))
    hub.program.send(SIGTERM)
    #expect(hub.program.wait() == 0, "\(hub.program.standardError)")
    #expect(hub.program.standardError.contains("all power lines are off"))
  }

  @Test func `idle connections are closed to make room for clients with a request`() {
    let begun = MonotonicClock().now
    let idle = (0..<1300).map { _ in SocketClient.connect(port: port) }
    defer { for descriptor in idle { close(descriptor) } }
    #expect(get("/healthz").body == "ok\n")
    #expect(eventually { value("output_refused_clients_total{output=\"http\"}") >= 1300 - 1088 })
    #expect(hub.logs("it closes idle ones"))
    // The hub logs one line for all closed connections. Clients without a request must leave after half a minute; if
    // that has made room, another line may follow.
    #expect(count("it closes idle ones") <= 1 + Int((MonotonicClock().now - begun) / Duration.seconds(30)))
    let stream = SocketClient(port: port)
    stream.send("GET /events?rate=10 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    #expect(stream.receives("\"mode\":"))
    // Clients that listen are not the ones that have to make room.
    let more = (0..<1100).map { _ in SocketClient.connect(port: port) }
    defer { for descriptor in more { close(descriptor) } }
    stream.forget()
    #expect(stream.receives("\"mode\":"))
    #expect(get("/healthz").body == "ok\n")
    #expect(hub.stop() == 0)
  }
}
