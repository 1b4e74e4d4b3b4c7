import Glibc
import TestSupport
import Testing

/// Tests of the web port with crowds and with invalid requests. They run one at a time, because each loads the machine.
@Suite(.serialized, .timeLimit(.minutes(10))) struct HTTPTests {
  private let port = SocketClient.freePort()

  init() { WireClient.allowCrowds() }

  private func hub() -> HubProcess {
    let hub = HubProcess(board: HubProcess.simulatedBoard("http: { port: \(port) }"))
    #expect(hub.logs("dashboard on"), "\(hub.program.standardError)")
    return hub
  }

  private func get(_ path: String) -> HTTPAnswer { HTTPAnswer(port, "GET", path) }

  private func events(_ query: String = "?rate=10") -> SocketClient {
    let client = SocketClient(port: port)
    client.send("GET /events\(query) HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return client
  }

  @Test func `a thousand scrapes wake no device, and promtool accepts the metrics`() {
    let hub = hub()
    let client = SocketClient(port: port)
    for _ in 0..<999 { client.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n") }
    client.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    #expect(client.waitsForEnd())
    #expect(client.text.split(separator: "HTTP/1.1 200 OK").count == 1000)
    #expect(hub.devicesNow.devices.allSatisfy { $0.wakes == 0 && $0.power == "off" })
    // The same test with every possible member in the state.
    let stream = events()
    #expect(stream.receives("\"mode\":\"fused\""))
    let metrics = get("/metrics").body
    #expect(metrics.contains("sensorhub_output_clients{output=\"events\"} 1"))
    #expect(metrics.contains("sensorhub_device_power_state{device=\"gps\",state=\"tracking\"} 1"))
    let file = hub.boardFile + ".metrics"
    HubProcess.write(metrics, to: file)
    defer { unlink(file) }
    let promtool = TestTools.path("promtool") ?? "promtool"
    let checker = Program(["-c", "\(promtool) check metrics < \(file)"], path: "/bin/sh")
    #expect(checker.wait() == 0, "\(checker.standardOutput)\(checker.standardError)")
    #expect(checker.standardOutput.isEmpty && checker.standardError.isEmpty)
    #expect(hub.stop() == 0)
  }

  @Test func `twenty clients that do not read delay none of a hundred others`() {
    let hub = hub()
    let request = Array("GET /events?rate=50 HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
    let stalled = (0..<20).map { _ in
      let descriptor = SocketClient.connect(port: port)
      var size: Int32 = 4096
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
      _ = request.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      return descriptor
    }
    // The rate is so low that a busy machine need not drop any state. Otherwise clients would have different ones.
    let clients = (0..<80).map { _ in events("?rate=2") }
    #expect(clients.allSatisfy { $0.receives("\"mode\":\"fused\"") })
    // The test waits until values had to be dropped for clients that do not read.
    let drops = eventually {
      !get("/metrics").body.contains("sensorhub_output_dropped_values_total{output=\"events\"} 0\n")
    }
    #expect(drops)
    #expect(hub.devicesNow["imu"].holders.count == 100)
    // A client that reads gets every state, so from now on all of these clients get the same states. If other processes
    // delay a client, the comparison is repeated with later states, for the clients that have not been complete yet.
    var others = clients
    let comesToAll = eventually(within: .seconds(240)) {
      for client in clients { client.forget() }
      // Some of these lines list satellites, and the first may be incomplete.
      guard eventually({ clients.allSatisfy { $0.lineCount > 15 } }) else { return false }
      // A list of satellites has the time of its epoch, and may come after states of a later epoch. The first times are
      // therefore not always in order.
      let before = clients.compactMap { $0.states.prefix(3).max() }.max() ?? 0
      let seen = clients[0].lineCount
      guard eventually({ clients[0].lineCount > seen + 150 }) else { return false }
      let states = clients[0].states.filter { $0 > before }.prefix(20)
      guard states.count == 20 else { return false }
      return eventually(within: .seconds(20)) {
        others.removeAll { Set($0.states).isSuperset(of: states) }
        return others.isEmpty
      }
    }
    #expect(comesToAll)
    for client in clients { client.leave() }
    for descriptor in stalled { close(descriptor) }
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }

  @Test func `ten thousand invalid requests do no harm`() {
    let hub = hub()
    let good = events()
    #expect(good.receives("\"mode\":\"fused\""))
    let before = hub.resources
    var random = SeededRandom()
    let seeds = [
      "GET /state HTTP/1.1\r\nHost: localhost\r\n\r\n", "POST /devices/gps/release HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "GET /metrics HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
      "GET /%ff%00?rate=%F0 HTTP/1.0\r\nHost: [::1]:1\r\nOrigin: \u{1}\r\nContent-Length: 3\r\n\r\nabc",
      "HEAD /events?rate=1&rate=2&&== HTTP/1.1\r\nhost: localhost\r\nAuthorization: Basic ====\r\n\r\n",
    ]
    for _ in 0..<1000 {
      let client = SocketClient(port: port)
      for _ in 0..<10 {
        var bytes = Array(seeds.randomElement(using: &random)!.utf8)
        for _ in 0..<Int.random(in: 0...4, using: &random) {
          bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        if Int.random(in: 0..<4, using: &random) == 0 {
          bytes = Array(bytes.prefix(Int.random(in: 1...bytes.count, using: &random)))
        }
        client.sendNow(bytes)
      }
      client.leave()
    }
    // The requests are lines and bodies without an end, and bytes that no protocol contains.
    for start in [
      "", "GET /", "GET / HTTP/1.1\r\nHost: ",
      "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n",
    ] {
      let endless = SocketClient(port: port)
      endless.send(start)
      for _ in 0..<64 { endless.sendNow([UInt8](repeating: UInt8(ascii: "a"), count: 16384)) }
      endless.sendNow([UInt8](repeating: 0, count: 4096) + [0xff, 0xfe, 0xc0, 0x80])
      #expect(endless.waitsForEnd())
    }
    // Some clients that never end their request stay connected throughout.
    let halves = (0..<50).map { _ in
      let client = SocketClient(port: port)
      client.send("GET /state HTTP/1.1\r\nHost: loc")
      return client
    }
    let seen = good.lineCount
    #expect(eventually { good.lineCount > seen + 40 })
    #expect(get("/healthz").status == 200)
    for client in halves { client.leave() }
    // A connection that was reset before it was accepted may stay until its idle time is over.
    let isBack = eventually { zip(hub.resources, before).allSatisfy { $0 <= $1 } }
    #expect(isBack, "\(before) became \(hub.resources)")
    #expect(hub.devicesNow["gps"].wakes == 1)
    good.leave()
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }

  @Test func `five hundred clients do not keep the hub from ending with its power off`() {
    let hub = hub()
    let clients = (0..<400).map { _ in events("?rate=1") }
    let idle = (0..<30).map { _ in SocketClient(port: port) }
    let stalled = (0..<20).map { _ in SocketClient.connect(port: port) }
    let request = Array("GET /events?rate=50 HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
    for descriptor in stalled { _ = request.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) } }
    let halves = (0..<50).map { _ in SocketClient(port: port) }
    for client in halves {
      client.send("POST /devices/gps/hold HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc")
    }
    #expect(clients.allSatisfy { $0.receives("\"mode\":\"") })
    #expect(hub.stop() == 0)
    #expect(hub.program.standardError.contains("all power lines are off"))
    #expect((clients + idle + halves).allSatisfy { $0.waitsForEnd() })
    for descriptor in stalled { close(descriptor) }
  }
}

extension SocketClient {
  /// The identifiers of the events that have come, in their order: nanoseconds of the monotonic clock.
  fileprivate var states: [Int] {
    // Split the text and not the bytes, because a debug build takes a hundred times as long for bytes. In text, the two
    // characters at the end of a chunk are one character.
    let whole = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).dropLast()
    return whole.filter { $0.hasPrefix("id: ") }.compactMap { Int($0.dropFirst(4)) }
  }
}
