import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// The page of all hubs at a broker: each hub sleeps unless a page has it open.
@Suite(.serialized, .sharesFixtures, .timeLimit(.minutes(10))) struct FleetPageTests {
  private let broker = Broker()
  private let port = SocketClient.freePort()

  private func hub(_ name: String) -> HubProcess {
    let hub = HubProcess(
      board: HubProcess.simulatedBoard("mqtt: { broker: \"\(broker.address)\", hub: \"\(name)\" }"))
    #expect(hub.logs("joined \(broker.address) as '\(name)'"))
    return hub
  }

  private func page(_ options: [String] = []) -> Program {
    let page = Program(["fleet", "--http", "\(port)"] + options + [broker.address])
    #expect(page.logs("fleet on http://127.0.0.1:\(port)"), "\(page.standardError)")
    return page
  }

  private struct Fleet: Decodable {
    struct Hub: Decodable { var hub, status: String }
    var news: String
    var whole: Bool
    var hubs: [Hub]
  }

  private func fleet(since news: String? = nil) -> Fleet? {
    let answer = HTTPAnswer(port, "GET", "/fleet" + (news.map { "?since=\($0)" } ?? ""))
    return try? JSONDecoder().decode(Fleet.self, from: Data(answer.body.utf8))
  }

  private func isListed(_ name: String, as status: String) -> Bool {
    eventually { fleet()?.hubs.contains { $0.hub == name && $0.status == status } == true }
  }

  private func open(_ hubs: String) -> SocketClient {
    let client = SocketClient(port: port)
    client.send("GET /events?hubs=\(hubs) HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return client
  }

  @Test func `a hub is awake while its stream on the fleet's page is open, and sleeps when client or page is killed`()
    throws
  {
    let (boat, ship) = (hub("boat"), hub("ship"))
    let page = page()
    #expect(isListed("boat", as: "online") && isListed("ship", as: "online"))
    let client = open("boat")
    #expect(client.receives(#"{"hub":"boat","state":{"#) && client.receives(#""lat":52.5"#))
    let holders = boat.devicesNow["gps"].holders
    #expect(holders.count == 1 && holders.allSatisfy { $0.hasPrefix("mqtt fleet-") }, "\(holders)")
    #expect(holders.allSatisfy { $0.hasSuffix(" 1 Hz (position, motion)") }, "\(holders)")
    #expect(boat.devicesNow["imu"].wakes == 0)
    // A second page with the same hub does not count as a second viewer of the hub. The hub is awake until the last
    // page has left.
    let other = open("boat,ship")
    #expect(other.receives(#"{"hub":"boat""#) && other.receives(#"{"hub":"ship""#))
    #expect(boat.devicesNow["gps"].holders == holders)
    client.leave()
    #expect(other.receives { $0.ranges(of: #"{"hub":"boat""#).count > 3 })
    other.leave()
    #expect(boat.comesToRest() && ship.comesToRest())
    #expect(boat.devicesNow["gps"].wakes == 1 && ship.devicesNow["gps"].wakes == 1)
    // A sleeping hub sends nothing new.
    var news = ""
    #expect(
      eventually {
        news = fleet()?.news ?? ""
        return fleet(since: news)?.hubs.isEmpty == true
      })
    #expect(fleet(since: news)?.whole == false && fleet(since: "other-1")?.whole == true)
    let last = open("boat")
    #expect(boat.shows("gps", "tracking"))
    page.send(SIGKILL)
    #expect(boat.comesToRest())
    #expect(broker.retained("sensorhub/boat/interest/+/state") == nil)
    last.leave()
    #expect(boat.stop() == 0)
    #expect(ship.stop() == 0)
  }

  @Test func `a page that opens many hubs which others already watch receives each at once`() {
    let names = (1...16).map { "boat-\($0)" }
    for name in names { broker.publish("sensorhub/\(name)/status", "online") }
    let page = page()
    #expect(eventually { fleet()?.hubs.count == names.count })
    let first = open(names.joined(separator: ","))
    #expect(eventually { names.allSatisfy { broker.retained("sensorhub/\($0)/interest/+/state") != nil } })
    // Each hub publishes something once.
    for name in names {
      broker.publish(
        "sensorhub/\(name)/state", #"{"class":"STATE","mode":"none","monotonic":9.0}"#, retained: false)
    }
    func hears(_ client: SocketClient) -> Bool {
      names.allSatisfy { client.receives(#"{"hub":"\#($0)","state":{"#) }
    }
    #expect(hears(first), "\(first.text)")
    let second = open(names.joined(separator: ","))
    #expect(hears(second), "\(second.text)")
    // The event of the first hub has waited while fifteen more hubs were requested. It is complete once its line has an
    // end.
    var event: Substring = ""
    let isWhole = second.receives { text in
      let lines = text.split(whereSeparator: \.isNewline)
      event = lines.first { $0.hasPrefix(#"data: {"hub":"boat-1","#) } ?? ""
      return event.contains(#""age":"#) && event.hasSuffix("}")
    }
    #expect(isWhole, "\(second.text)")
    let age = event.split(separator: #""age":"#).last.flatMap { Double($0.dropLast()) }
    #expect(age.map { $0 > 0.02 } == true, "\(event)")
    first.leave()
    second.leave()
    page.send(SIGTERM)
    #expect(page.wait() == 0, "\(page.standardError)")
  }

  @Test func `pages of other sites, unknown hubs and hubs with hostile names wake no device`() {
    let boat = hub("boat")
    broker.publish("sensorhub/<b>/status", "online")
    broker.publish("sensorhub/ghost/last", #"{"class":"STATE","#)
    broker.publish("sensorhub/ship/status", "online")
    // Some parsers accept this as JSON; it would make the whole event invalid.
    broker.publish("sensorhub/ghost/health", #"{"x":"\q"}"#)
    broker.publish("sensorhub/ghost/devices", #"{"devices":[],"devices":5}"#)
    broker.publish("sensorhub/boat/last", #"{"class":"STATE","mode":"none","monotonic":9.0}"#)
    let page = page(["--host", "fleet.example"])
    #expect(isListed("boat", as: "online") && isListed("ship", as: "online"))
    // The retained message of the last topic comes last.
    #expect(eventually { HTTPAnswer(port, "GET", "/fleet").body.contains(#""last":{"class":"STATE","mode":"none""#) })
    #expect(fleet()?.hubs.map(\.hub).sorted() == ["boat", "ship"])
    for (path, header, status, message) in [
      ("/events?hubs=boat", "Host: localhost\r\nOrigin: http://evil.example", 403, "other sites"),
      ("/events?hubs=boat", "Sec-Fetch-Site: cross-site", 403, "other sites"),
      ("/fleet", "Host: evil.example", 421, "with --host"), ("/healthz", "Host: fleet.example", 200, "ok"),
      ("/events", "", 400, "'hubs' must be"), ("/events?hubs=boat,boat", "", 400, "'hubs' must be"),
      ("/events?hubs=nobody", "", 404, "no hub 'nobody' at the broker"),
      ("/nothing", "", 404, "nothing under this path"),
      ("/events?hubs=+", "", 404, "no hub"), ("/", "", 200, "Fleet at 127.0.0.1"),
    ] {
      let answer = HTTPAnswer(port, "GET", path, header.isEmpty ? [] : [header])
      #expect(answer.status == status && answer.body.contains(message), "\(path): \(answer.head) \(answer.body)")
    }
    #expect(boat.devicesNow.devices.allSatisfy { $0.wakes == 0 })
    // A hub that has gone is shown as missing.
    broker.publish("sensorhub/ship/status", "")
    #expect(isListed("ship", as: "gone"))
    page.send(SIGTERM)
    #expect(page.wait() == 0, "\(page.standardError)")
    #expect(boat.stop() == 0)
  }

  @Test func `the fleet command says why it cannot serve its page`() {
    let first = page()
    let second = Program(["fleet", "--http", "\(port)", broker.address])
    #expect(second.wait() == 69 && second.standardError.contains("cannot serve the page on http://127.0.0.1:\(port)"))
    let open = Program(["fleet", "--http", "0.0.0.0:\(port)", broker.address])
    #expect(
      open.wait() == 77 && open.standardError.contains("name its file with --token-file"), "\(open.standardError)")
    let list = Program(["fleet", "--http", "\(port)", "--json", broker.address])
    #expect(list.wait() == 64)
    first.send(SIGINT)
    #expect(first.wait() == 0)
  }

  @Test func `in a browser, hubs are on a list and a map, and opening one wakes only that one`() throws {
    let (boat, ship) = (hub("boat"), hub("ship"))
    // The page shows the last position that the hub has reported.
    let position = #"{"lat":52.53,"lon":13.4,"age":3.0,"source":"gps"}"#
    broker.publish(
      "sensorhub/buoy/last",
      #"{"said":"2026-11-22T10:00:00.000Z","class":"STATE","mode":"asleep","monotonic":9.0,"position":\#(position)}"#)
    broker.publish(
      "sensorhub/liar/last",
      #"{"said":{"toString":1},"class":"STATE","mode":"asleep","monotonic":9.0,"position":\#(position)}"#)
    let page = page()
    let browser = try Browser()
    try browser.open("http://localhost:\(port)/")
    func word(_ name: String) -> String {
      "[...document.querySelectorAll('.hub')].find((e) => e.querySelector('h3').textContent === '\(name)')"
        + ".querySelector('.power').textContent"
    }
    func click(_ name: String) throws {
      try browser.run("document.querySelector('[aria-label^=\"\(name)\"]').click()")
    }
    #expect(
      try browser.shows("asleep,asleep,offline", at: "[\(word("boat")), \(word("ship")), \(word("buoy"))].join()"))
    #expect(boat.devicesNow["gps"].wakes == 0)
    try click("Open boat")
    #expect(try browser.shows("live", at: word("boat")))
    #expect(boat.devicesNow["gps"].holders.count == 1 && ship.devicesNow["gps"].wakes == 0)
    // A second hub is opened without a gap for the first.
    try click("Open ship")
    #expect(try browser.shows("live,live", at: "[\(word("ship")), \(word("boat"))].join()"))
    let map = "document.getElementById('map').ariaLabel"
    #expect(try browser.shows("Map: 4 hubs, 2 of them open", at: map))
    try click("Close ship")
    #expect(ship.comesToRest())
    try browser.minimize()
    #expect(boat.comesToRest())
    try browser.restore()
    // The hidden page has reported its state throughout.
    #expect(boat.shows("gps", "tracking"))
    #expect(boat.devicesNow["gps"].wakes == 2)
    #expect(try browser.shows("live", at: word("boat")))
    for scheme in ["light", "dark"] {
      try browser.prefer(scheme: scheme)
      try browser.expectNoScrolling(savingAs: "fleet-WIDTH-\(scheme)")
      try browser.expectAccessible()
    }
    try browser.open("about:blank")
    #expect(boat.comesToRest())
    #expect(try browser.log("browser").isEmpty)
    let strangers = try browser.log("performance").map(\.message).filter {
      $0.contains("Network.requestWillBeSent\"") && !$0.contains("\"url\":\"http://localhost:\(port)/")
        && !$0.contains("\"url\":\"data:") && !$0.contains("\"url\":\"about:")
    }
    #expect(strangers.isEmpty, "\(strangers)")
    page.send(SIGTERM)
    #expect(page.wait() == 0)
    #expect(boat.stop() == 0)
    #expect(ship.stop() == 0)
  }

  @Test func `the list and the page show fences that were left, and links to the hubs' pages`() throws {
    let fences =
      #"{"class":"FENCES","fences":{"anchor":{"state":"outside","seconds":3.0,"event":"leave","beyond":14.2},"#
      + #""yard":{"state":"inside","seconds":3.0,"event":"found"}}}"#
    for (topic, text) in [
      ("buoy/status", "online"), ("buoy/fences", fences),
      ("buoy/health", #"{"class":"HEALTH","board":"b","page":"http://buoy.example:8080/"}"#),
      ("blind/status", "online"), ("blind/fences", #"{"fences":{"anchor":{"state":"unknown","event":"lost"}}}"#),
      // Any client may write to these topics.
      ("liar/status", "online"), ("liar/fences", #"{"fences":{"anchor":7}}"#),
      ("liar/health", #"{"class":"HEALTH","page":"javascript:alert(1)"}"#),
    ] {
      #expect(broker.publish("sensorhub/\(topic)", text))
    }
    let list = Program(["fleet", broker.address])
    #expect(list.wait() == 0, "\(list.standardError)")
    for line in [
      "  trouble  fence anchor: left, 14 m beyond the edge", "  fences   anchor outside, yard inside",
      "  page     http://buoy.example:8080/",
      "  trouble  fence anchor: no fix that shows on which side of the edge the hub is",
    ] {
      #expect(list.lines.contains(line), "\(line): \(list.standardOutput)")
    }
    #expect(!list.standardOutput.contains("javascript"), "\(list.standardOutput)")
    let page = page()
    let browser = try Browser()
    try browser.open("http://localhost:\(port)/")
    func text(_ part: String, of name: String) -> String {
      "[...document.querySelectorAll('.hub')].find((e) => e.querySelector('h3').textContent === '\(name)')"
        + ".querySelector('\(part)').textContent"
    }
    #expect(try browser.shows("fence anchor: left, 14 m beyond the edge", at: text(".trouble", of: "buoy")))
    #expect(try browser.text(text(".fences", of: "buoy")) == "Fences: anchor outside, yard inside")
    #expect(try browser.sees("\(text(".trouble", of: "blind")).startsWith('fence anchor: no fix')"))
    #expect(try browser.text("document.title").contains("fence anchor: "))
    #expect(try browser.shows("true", at: "document.getElementById('count').textContent.endsWith(' 2 in trouble')"))
    let links = "[...document.querySelectorAll('.page:not([hidden])')].map((e) => e.href).join()"
    #expect(try browser.shows("http://buoy.example:8080/", at: links))
    // A click on the name opens the hub, like its button.
    try browser.run("document.querySelector('.hub h3').click()")
    #expect(try browser.shows("Close", at: "document.querySelector('.hub button').textContent"))
    try browser.expectAccessible()
    page.send(SIGTERM)
    #expect(page.wait() == 0)
  }

  @Test func `an open hub stays open in the browser while the page's server and the broker restart`() throws {
    let boat = hub("boat")
    let first = page()
    #expect(isListed("boat", as: "online"))
    let browser = try Browser()
    try browser.open("http://localhost:\(port)/")
    func has(_ button: String, _ mode: String) throws -> Bool {
      try browser.shows(
        "\(button), \(mode)", at: "`${document.querySelector('.hub button').textContent}, ${text('mode')}`",
        within: .seconds(230))
    }
    #expect(try has("Open", "asleep"))
    try browser.run("document.querySelector('.hub button').click()")
    #expect(try has("Close", "watching"))
    #expect(boat.shows("gps", "tracking"))
    first.send(SIGTERM)
    #expect(first.wait() == 0)
    broker.stop()
    let second = Program(["fleet", "--http", "\(port)", broker.address])
    #expect(try has("Close", "no broker"))
    broker.start()
    #expect(try has("Close", "watching"))
    #expect(
      eventually(within: .seconds(240)) { boat.devicesNow["gps"].holders.contains { $0.hasPrefix("mqtt fleet-") } })
    try browser.open("about:blank")
    second.send(SIGTERM)
    #expect(second.wait() == 0)
    #expect(boat.stop() == 0)
  }
}
