import Hub
import MonotonicTime
import TestSupport
import Testing

@testable import Outputs

/// The pending deliveries of a hook.
struct HookQueueTests {
  private static let start = MonotonicInstant(nanoseconds: 1_000_000_000)

  static func notice(_ number: Int, _ event: HookEvent = .fence, _ change: HookNotice.Change = .left) -> HookNotice {
    HookNotice(
      id: "run-\(number)", event: event, change: change, subject: "anchor", message: "fence anchor: left", hub: "boat",
      nanosecondsSince1970: 1_780_000_000_000_000_000)
  }

  @Test func `messages are sent one after the other, and a failed one is retried at growing intervals`() {
    var queue = HookQueue()
    #expect(queue.next(at: Self.start) == .nothing)
    for number in 1...2 {
      let isLossy = queue.add(Self.notice(number))
      #expect(!isLossy)
    }
    var now = Self.start
    var waits: [Duration] = []
    for _ in 0..<12 {
      #expect(queue.next(at: now) == .deliver(Self.notice(1)))
      queue.failed(at: now, isRefusal: false)
      guard case .wait(let until) = queue.next(at: now) else {
        Issue.record("no pause after a failure")
        return
      }
      waits.append(until - now)
      now = until
    }
    #expect(waits[0] <= .seconds(1) && waits.allSatisfy { $0 <= .seconds(90) } && waits[11] >= .seconds(60))
    queue.done(Self.notice(1), at: now)
    #expect(queue.next(at: now) == .deliver(Self.notice(2)))
    // The server refuses the message, which only a person can fix.
    queue.failed(at: now, isRefusal: true)
    guard case .wait(let until) = queue.next(at: now) else {
      Issue.record("no pause after a refusal")
      return
    }
    #expect(until - now >= .seconds(60))
  }

  @Test func `if too many messages wait, the oldest are lost`() {
    var queue = HookQueue()
    var losses: [Bool] = []
    for number in 0...HookQueue.most { losses.append(queue.add(Self.notice(number))) }
    #expect(losses.firstIndex(of: true) == HookQueue.most)
    #expect(queue.waiting.map(\.id).first == "run-1" && queue.waiting.count == HookQueue.most && queue.lostCount == 1)
  }

  @Test func `a storm of messages is delivered at a limited rate`() {
    var queue = HookQueue()
    for number in 0..<HookQueue.rate + 1 { _ = queue.add(Self.notice(number)) }
    for _ in 0..<HookQueue.rate {
      guard case .deliver(let notice) = queue.next(at: Self.start) else {
        Issue.record("too slow")
        return
      }
      queue.done(notice, at: Self.start)
    }
    #expect(queue.next(at: Self.start) == .wait(until: Self.start + HookQueue.window))
    #expect(queue.next(at: Self.start + HookQueue.window) == .deliver(Self.notice(HookQueue.rate)))
  }

  @Test func `the JSON has the members that ntfy and Gotify expect`() {
    var notice = Self.notice(7)
    notice.mark = "SIMULATED"
    notice.place = HookNotice.Position(latitudeDegrees: 54.5, longitudeDegrees: -10.25, sigmaMetres: 1.5)
    notice.metresBeyond = 12.34
    let json = String(decoding: notice.json(topic: "my-boat"), as: UTF8.self)
    #expect(
      json == #"{"class":"HOOK","topic":"my-boat","title":"SIMULATED: boat: fence anchor left","#
        + #""message":"fence anchor: left","priority":5,"tags":["rotating_light"],"eventId":"run-7","event":"fence","#
        + #""change":"left","active":true,"subject":"anchor","hub":"boat","mark":"SIMULATED","#
        + #""time":"2026-05-28T20:26:40.000Z","position":{"lat":54.5000000,"lon":-10.2500000,"sigmaHorizontal":1.50},"#
        + #""beyond":12.3}"#, "\(json)")
    let over = String(decoding: Self.notice(8, .fence, .returned).json(), as: UTF8.self)
    #expect(over.contains(#""priority":3,"tags":["white_check_mark"]"#) && over.contains(#""active":false"#), "\(over)")
  }

  @Test func `no address, token or text can add an option to curl`() throws {
    let url = "https://host/message?token=a&b=c"
    let board = try Board(
      json5: Array("{ name: 'x', devices: {}, on: { any: { url: '\(url)' } } }".utf8), file: "board")
    var notice = Self.notice(1)
    notice.message = "a\"\noutput = \"/tmp/x\"\\"
    let webhook = try #require(board.hooks.first?.webhook)
    let text = Curl.configuration(of: webhook, token: "t\"\\", notice)
    let lines = text.split(separator: "\n")
    #expect(lines.first == "url = \"https://host/message?token=a&b=c\"")
    #expect(lines.contains(#"header = "Authorization: Bearer t\"\\""#), "\(text)")
    #expect(lines.count { $0.hasPrefix("output") } == 1 && lines.contains("output = \"/dev/null\""), "\(text)")
  }
}
