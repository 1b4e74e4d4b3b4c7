import CLinux
import Glibc
import Guarding
import Hub
import MonotonicTime
import TestSupport
import Testing

@testable import Outputs

/// The admission and service of clients at given times.
struct FairnessTests {
  // MARK: Admission

  private func guests(_ counts: [(address: String, bare: Int, others: Int)]) -> [Admission.Guest] {
    counts.flatMap { address, bare, others in
      let machine = IPAddress(address)?.machine ?? []
      return (0..<bare).map { _ in Admission.Guest(machine: machine, isBare: true) }
        + (0..<others).map { _ in Admission.Guest(machine: machine, isBare: false) }
    }
  }

  private func admission(
    _ newcomer: String, _ counts: [(address: String, bare: Int, others: Int)]
  ) throws -> Admission {
    Admission(of: try #require(IPAddress(newcomer)), to: 512, among: guests(counts))
  }

  @Test func `a machine is admitted until it has its share of connections`() throws {
    #expect(try admission("10.0.0.1", []) == .welcome)
    #expect(try admission("10.0.0.1", [("10.0.0.1", 0, 127)]) == .welcome)
    #expect(
      try admission("10.0.0.1", [("10.0.0.1", 0, 128)])
        == .refused("its machine has 128 connections, the maximum for one machine"))
    #expect(try admission("10.0.0.2", [("10.0.0.1", 0, 128)]) == .welcome)
    #expect(try admission("127.0.0.1", [("127.0.0.1", 0, 255)]) == .welcome)
    #expect(try admission("127.0.0.1", [("127.0.0.1", 0, 256)]) != .welcome)
  }

  @Test func `a client that never sent a request makes room for a new one, first one of the same machine`() throws {
    #expect(try admission("10.0.0.1", [("10.0.0.2", 20, 0), ("10.0.0.1", 1, 127)]) == .inPlace(of: 20))
    let four = (1...4).map { ("10.0.0.\($0)", $0 == 3 ? 1 : 0, $0 == 3 ? 127 : 128) }
    #expect(try admission("10.0.0.9", four) == .inPlace(of: 256))
    let full = (1...4).map { ("10.0.0.\($0)", 0, 128) }
    #expect(try admission("10.0.0.9", full) == .refused("there are 512 connections, the maximum"))
  }

  @Test func `a machine has one share of connections, however many IPv6 addresses it uses`() throws {
    let many = (1...128).map { ("fd00::\(String($0, radix: 16))", 0, 1) }
    #expect(try admission("fd00::ffff", many) != .welcome)
    #expect(try admission("fd00:0:0:1::1", many) == .welcome)
    let neighbours = (1...128).map { ("fe80::\(String($0, radix: 16))", 0, 1) }
    #expect(try admission("fe80::ffff", neighbours) == .welcome)
  }

  @Test(arguments: [64, 256, 1024, 4096, 20_000])
  func `the outputs never use more file descriptors than the process may open`(_ total: Int) {
    let budget = DescriptorBudget(total: total)
    #expect(budget.unixSockets >= 8 && budget.streamPort >= 4)
    #expect(budget.http >= 8)
    // There are three kinds of stream ports: gpsd, NMEA 0183 and Signal K.
    if total >= 256 { #expect(96 + budget.unixSockets + 3 * budget.streamPort + budget.http <= total) }
    if total >= 4096 { #expect(budget.streamPort >= 512) }
  }

  @Test func `the process raises its limit of file descriptors`() {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    let budget = DescriptorBudget.raised()
    #expect(budget.total >= min(Int(clamping: limit.rlim_max), 4096))
  }

  @Test func `one program cannot use all places at the Unix sockets, nor can other users`() {
    func refusal(of newcomer: (Int32, UInt32), among guests: (count: Int, process: Int32, user: UInt32)...) -> String? {
      LocalAdmission.refusal(
        of: LocalAdmission.Guest(process: newcomer.0, user: newcomer.1), to: 64,
        among: guests.flatMap { Array(repeating: .init(process: $0.process, user: $0.user), count: $0.count) }, own: 990
      )
    }
    // The clients belong to one process, of any user.
    #expect(refusal(of: (5, 0), among: (32, 5, 0)) == "its process has 32 connections, the maximum for one process")
    #expect(refusal(of: (6, 0), among: (32, 5, 0)) == nil)
    // The clients belong to one user with several processes, or to several users.
    #expect(refusal(of: (6, 1000), among: (31, 5, 1000)) == nil)
    #expect(refusal(of: (6, 1000), among: (32, 5, 1000))?.hasPrefix("its user has 32") == true)
    #expect(refusal(of: (8, 1002), among: (30, 5, 1000), (18, 6, 1001))?.hasPrefix("other users have 48") == true)
    for keeper: UInt32 in [0, 990] { #expect(refusal(of: (8, keeper), among: (30, 5, 1000), (18, 6, 1001)) == nil) }
    #expect(refusal(of: (8, 0), among: (32, 5, 0), (32, 6, 0)) == "there are 64 connections, the maximum")
  }

  // MARK: Requests

  @Test(arguments: [
    ("GET / HTTP/1.1\r\n", ForeignProtocol.Verdict.foreign), ("POST / HT", .foreign), ("\r\nPUT /x", .foreign),
    ("OPTIONS * ", .foreign), ("HEAD /", .foreign), ("CONNECT a:1", .foreign), ("TRACE /", .foreign),
    ("DELETE /", .foreign), ("PATCH /", .foreign), ("PRI * HTTP/2.0\r\n", .foreign), ("\u{16}\u{3}\u{1}", .foreign),
    ("PROPFIND / HTTP/1.1\r\n", .foreign), (" FOO  /a b HTTP/1.0\n", .foreign), ("get / HTTP/1.1\r\n", .foreign),
    ("DESCRIBE rtsp://hub RTSP/1.0\r\n", .foreign), (" \t GET /", .foreign),
    ("", .undecided), ("P", .undecided), ("POST", .undecided), ("\r\n", .undecided), ("GETTING", .undecided),
    ("PROPFIND /?WATCH={\"enable\":true}; HTTP/1.1", .undecided),
    ("?WATCH={\"enable\":true}", .other), ("get /\n", .other), ("$GPRMC,", .other), ("?", .other),
    ("w HTTP/2\n", .other), ("hello\n", .other), ("I say HTTP/1.1!\n", .other),
  ])
  func `HTTP is recognised by its first line`(_ text: String, _ verdict: ForeignProtocol.Verdict) {
    #expect(ForeignProtocol.verdict(on: Array(text.utf8)) == verdict)
  }

  /// A client over a real socket, with a session that records its bytes.
  private final class Bench: StreamOutput {
    private final class Session: StreamSession {
      let received: Recorder<String>
      private let bench: Bench
      init(of bench: Bench) { (self.bench, received) = (bench, bench.received) }
      var isFull: Bool { bench.fullness.withLock { $0 } }
      var hasWaiting: Bool { bench.hasWaiting.withLock { $0 } }
      func receive(_ bytes: UnsafeBufferPointer<UInt8>) { received.append(String(decoding: bytes, as: UTF8.self)) }
      func end() { received.append("end") }
    }

    let received = Recorder<String>()
    /// Whether the sessions are full.
    let fullness = Guarded(false)
    /// Whether bytes wait in the sessions.
    let hasWaiting = Guarded(false)
    let start = MonotonicInstant(nanoseconds: 1_000_000_000)
    private let served = Guarded(0)

    var sessions: Int { served.withLock { $0 } }

    func serve(_ connection: StreamConnection) -> (any StreamSession)? {
      served.withLock { $0 += 1 }
      return Session(of: self)
    }

    func client(_ kind: StreamKind, isRemote: Bool = true) -> StreamClient {
      var ends: [Int32] = [0, 0]
      precondition(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
      close(ends[1])
      let connection = StreamConnection(
        descriptor: ends[0], peer: ClientPeer(by: "visitor"), traffic: OutputTraffic().gpsd, wantsToWrite: {})
      return StreamClient(
        connection, of: kind, at: isRemote ? IPAddress("127.0.0.1") : nil, served: self, now: start)
    }
  }

  private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  @Test func `a browser wakes no device, and a silent plotter is served a moment later`() {
    let bench = Bench()
    let browser = bench.client(.nmea)
    #expect(browser.proceed(now: bench.start))
    #expect(browser.deadline == bench.start + StreamClient.hearing)
    // No sentence begins this way.
    #expect(!browser.receive(bytes("G"), now: bench.start))
    browser.end()
    #expect(bench.sessions == 0)
    let plotter = bench.client(.nmea)
    #expect(plotter.proceed(now: bench.start + .milliseconds(249)))
    #expect(bench.sessions == 0)
    #expect(plotter.proceed(now: bench.start + .milliseconds(250)))
    #expect(bench.sessions == 1)
    #expect(plotter.deadline == nil)
    // A client that sends this late is disconnected too.
    #expect(!plotter.receive(bytes("POST / HTTP/1.1\r\n"), now: bench.start + .seconds(9)))
    let talkative = bench.client(.nmea)
    #expect(talkative.receive(bytes("$GPRMC,,V\r\n"), now: bench.start) && talkative.proceed(now: bench.start))
    #expect(bench.sessions == 2)
    plotter.end()
    talkative.end()
  }

  @Test func `a request in the body of an HTTP request does not reach the session`() {
    let bench = Bench()
    let client = bench.client(.gpsd)
    #expect(client.proceed(now: bench.start))
    #expect(!client.receive(bytes("POST / HTTP/1.1\r\n\r\n?WATCH={\"enable\":true}\r\n"), now: bench.start))
    client.end()
    #expect(bench.received.values == ["end"])
    // The method is the page's own, and the first line comes in pieces or never ends.
    let request = "?WATCH={\"enable\":true};"
    let inventive = bench.client(.gpsd)
    #expect(inventive.receive(bytes("FOO /\(request)"), now: bench.start) && inventive.proceed(now: bench.start))
    #expect(inventive.receive(bytes(String(repeating: "a", count: 500)), now: bench.start))
    #expect(inventive.proceed(now: bench.start))
    #expect(!inventive.receive(bytes(" HTTP/1.1\r\n\r\n\(request)"), now: bench.start))
    inventive.end()
    let endless = bench.client(.gpsd)
    #expect(!endless.receive(bytes("FOO /" + String(repeating: request, count: 400)), now: bench.start))
    endless.end()
    #expect(bench.received.values == ["end", "end"])
  }

  @Test func `a client that never sends a request is disconnected after a while, one that sent a request stays`() {
    let bench = Bench()
    let (bare, asking) = (bench.client(.gpsd), bench.client(.gpsd))
    #expect(asking.receive(bytes("?POLL;"), now: bench.start + .seconds(299)))
    for client in [bare, asking] { #expect(client.proceed(now: bench.start + .seconds(299))) }
    #expect(bare.isBare && !asking.isBare)
    #expect(bare.deadline == bench.start + StreamClient.silence)
    #expect(!bare.proceed(now: bench.start + .seconds(300)))
    #expect(asking.proceed(now: bench.start + .seconds(86_400)))
    bare.end()
    asking.end()
  }

  @Test func `requests of a client that changes them all the time are handled completely, at a limited rate`() {
    let bench = Bench()
    let client = bench.client(.gpsd)
    let requests = (0..<50).map { "?WATCH={\"enable\":\($0 % 2 == 0)};" }
    // The bytes come in pieces that are cut anywhere.
    var rest = bytes(requests.joined() + "?POLL;")[...]
    var now = bench.start
    while !rest.isEmpty, client.isHeard {
      #expect(client.receive(rest.prefix(7), now: now) && client.proceed(now: now))
      rest = rest.dropFirst(7)
    }
    func watches() -> Int { bench.received.values.joined().count { $0 == "=" } }
    #expect(watches() == Int(RequestRate.burst))
    #expect(!client.isHeard)
    for second in 1...4 {
      now = bench.start + .seconds(second)
      // The client is called at each of its deadlines.
      while let deadline = client.deadline, deadline <= now { #expect(client.proceed(now: deadline)) }
      while !rest.isEmpty, client.isHeard {
        #expect(client.receive(rest.prefix(7), now: now) && client.proceed(now: now))
        rest = rest.dropFirst(7)
      }
      #expect(watches() <= Int(RequestRate.burst + Double(second) * RequestRate.perSecond))
    }
    #expect(watches() >= 35)
    while !rest.isEmpty || client.deadline != nil {
      now = now + .milliseconds(250)
      if client.isHeard { _ = client.receive(rest.prefix(7), now: now); rest = rest.dropFirst(7) }
      #expect(client.proceed(now: now))
    }
    #expect(bench.received.values.joined() == requests.joined() + "?POLL;")
    client.end()
  }

  @Test func `a client that ends while its session is full stays until its bytes are taken, but not forever`() {
    let bench = Bench()
    let client = bench.client(.bridge)
    #expect(client.receive(bytes("$PUBX,00*33\r\n"), now: bench.start) && client.proceed(now: bench.start))
    #expect(client.isHeard && client.isDismissedAtEnd)
    bench.fullness.withLock { $0 = true }
    #expect(client.proceed(now: bench.start))
    #expect(!client.isHeard && !client.isDismissedAtEnd)
    #expect(client.deadline == bench.start + StreamClient.backlog)
    bench.fullness.withLock { $0 = false }
    #expect(client.proceed(now: bench.start + .seconds(29)))
    #expect(client.isHeard && client.isDismissedAtEnd && client.deadline == nil)
    bench.fullness.withLock { $0 = true }
    #expect(client.proceed(now: bench.start + .seconds(40)))
    #expect(client.proceed(now: bench.start + .seconds(69)) && !client.isDismissedAtEnd)
    #expect(client.proceed(now: bench.start + .seconds(70)))
    #expect(!client.isHeard && client.isDismissedAtEnd && client.deadline == nil)
    client.end()
  }

  @Test func `a client that has ended its sending stays until its last bytes are used`() {
    let bench = Bench()
    let (client, idle, silent) = (bench.client(.bridge), bench.client(.bridge), bench.client(.bridge))
    #expect(client.receive(bytes("$PUBX,00*33\r\n"), now: bench.start) && client.proceed(now: bench.start))
    #expect(idle.receive(bytes("$PUBX,00*33\r\n"), now: bench.start) && idle.proceed(now: bench.start))
    #expect(!idle.endOfInput() && !silent.endOfInput())
    bench.hasWaiting.withLock { $0 = true }
    #expect(client.isHeard && client.endOfInput() && client.proceed(now: bench.start))
    #expect(!client.isHeard && !client.isDismissedAtEnd)
    #expect(client.deadline == bench.start + StreamClient.backlog)
    #expect(client.proceed(now: bench.start + .seconds(29)))
    bench.hasWaiting.withLock { $0 = false }
    #expect(!client.proceed(now: bench.start + .seconds(29)))
    for client in [client, idle, silent] { client.end() }
    #expect(bench.sessions == 2)
  }

  @Test func `requests that change nothing are answered at any rate`() {
    let bench = Bench()
    let client = bench.client(.gpsd)
    for _ in 0..<1000 {
      #expect(client.receive(bytes("?POLL;?DEVICES;?WATCH;"), now: bench.start) && client.proceed(now: bench.start))
    }
    #expect(bench.received.values.joined().count { $0 == "?" } == 3000)
    let local = bench.client(.state, isRemote: false)
    for _ in 0..<100 where local.isHeard {
      #expect(local.receive(bytes("{\"rateHz\": 5}\n"), now: bench.start) && local.proceed(now: bench.start))
    }
    #expect(bench.received.values.count { $0.contains("rateHz") } == Int(RequestRate.burst))
    client.end()
    local.end()
  }
}
