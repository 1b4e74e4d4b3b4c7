import FoundationEssentials
import Fusion
import Glibc
import Guarding
import Hub
import MonotonicTime
import NMEA
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Outputs

/// Whether the gpsd port and the fused sentences state the hub's knowledge.
@Suite(.serialized, .timeLimit(.minutes(10))) struct GPSDTruthTests {
  private let gpsd = SocketClient.freePort()
  private let nmea = SocketClient.freePort()
  private static let watch = "?WATCH={\"enable\":true,\"json\":true};"

  struct Report: Decodable {
    var `class`: String
    var device, path, time, activated: String?
    var mode, active, status: Int?
    var lat, lon, alt, cycle: Double?
  }

  static func reports(_ text: String, _ name: String? = nil) -> [Report] {
    text.split(separator: "\r\n").compactMap { try? JSONDecoder().decode(Report.self, from: Data($0.utf8)) }.filter {
      name == nil || $0.class == name
    }
  }

  /// An epoch in the receiver's own format; without a fix under a bridge.
  private func epoch(_ second: Int, hasFix: Bool = true) -> String {
    // On a busy machine the test drives for hours of simulated time.
    let hour = SentenceField.padded(12 + second / 3600 % 12, 2)
    let time = hour + SentenceField.padded(second / 60 % 60, 2) + SentenceField.padded(second % 60, 2) + ".00"
    let place = "5231.0000,N,01322.0000,E"
    return hasFix
      ? SentenceWriter.make("GNRMC,\(time),A,\(place),1.0,45.0,211126,,,A,V")
        + SentenceWriter.make("GNGGA,\(time),\(place),1,08,0.9,40.0,M,40.0,M,,")
        + SentenceWriter.make("GNGSA,A,3,02,05,12,13,15,18,24,29,,,,,1.6,0.9,1.3,1")
      : SentenceWriter.make("GNRMC,\(time),V,,,,,,,211126,,,N,V")
        + SentenceWriter.make("GNGGA,\(time),,,,,0,00,,,M,,M,,")
        + SentenceWriter.make("GNGSA,A,1,,,,,,,,,,,,,,,,1")
  }

  @Test func `satellites, sentences and the device name are those of the receiver in use`() {
    let roof = PseudoTerminal()
    let mast = PseudoTerminal()
    let hub = HubProcess(
      board: """
        { name: "test", devices: {
            roof: { driver: "nmea", port: "\(roof.path)", power: { lingerSeconds: 0.2 } },
            mast: { driver: "nmea", port: "\(mast.path)", power: { lingerSeconds: 0.2 } } },
          gpsd: { port: \(gpsd) }, nmea: { port: \(nmea) } }
        """)
    let client = SocketClient(port: gpsd)
    let plotter = SocketClient(port: nmea)
    let ofRoof = SocketClient(port: gpsd)
    client.send(GPSDTruthTests.watch)
    ofRoof.send("?WATCH={\"enable\":true,\"json\":true,\"device\":\"\(roof.path)\"};")
    #expect(eventually { hub.devicesNow["roof"].power == "acquiring" && hub.devicesNow["mast"].power == "acquiring" })
    var second = 0
    /// Drives while the preferred receiver stands under a bridge.
    func drive(until isDone: () -> Bool) -> Bool {
      eventually {
        second += 1
        roof.write(epoch(second, hasFix: false))
        mast.write(epoch(second) + SentenceWriter.make("GPGSV,1,1,01,02,45,090,40,1"))
        return isDone()
      }
    }
    func reports(_ name: String) -> [Report] { GPSDTruthTests.reports(client.text, name) }
    #expect(drive { reports("TPV").contains { $0.lat != nil } && reports("SKY").count > 2 })
    #expect(reports("TPV").filter { $0.lat != nil }.allSatisfy { $0.device == mast.path })
    #expect(reports("SKY").last?.device == mast.path)
    let paths = client.text.components(separatedBy: "\"class\":\"DEVICE\"")
    #expect(paths.contains { $0.contains(roof.path) } && paths.contains { $0.contains(mast.path) })
    // The sentences are of one receiver, and not mixed.
    let mark = plotter.text.count
    #expect(drive { plotter.text.count > mark + 2000 && GPSDTruthTests.reports(ofRoof.text, "TPV").count > 3 })
    let heard = plotter.text.dropFirst(mark).split(separator: "\r\n").dropFirst().dropLast()
    #expect(heard.filter { $0.contains("RMC") }.allSatisfy { $0.contains(",A,5231.0000,N,") })
    // A client that watches one receiver gets its values.
    let own = GPSDTruthTests.reports(ofRoof.text, "TPV")
    #expect(own.count > 3 && own.allSatisfy { $0.device == roof.path && $0.lat == nil })
    client.send("?POLL;")
    #expect(eventually { reports("POLL").count == 1 })
    // Each list has one entry for each active device. The last entry is checked, because clients read that one.
    // A report of the watch may follow on its own line.
    let poll =
      client.text.components(separatedBy: "\"class\":\"POLL\"").last.map {
        String($0.prefix { $0 != "\r\n" && $0 != "\n" })
      } ?? ""
    let devices = poll.components(separatedBy: "\"class\":\"TPV\",\"device\":\"").dropFirst().map {
      $0.prefix { $0 != "\"" }
    }
    #expect(devices.map(String.init) == [roof.path, mast.path], "\(poll)")
  }

  @Test func `a watch of a receiver by its path continues when the board file adds a receiver or swaps the order`()
    throws
  {
    let roof = PseudoTerminal()
    let mast = PseudoTerminal()
    func board(_ devices: (id: String, path: String)...) -> String {
      let list = devices.map { "\($0.id): { driver: \"nmea\", port: \"\($0.path)\", power: { lingerSeconds: 0 } }" }
      return "{ name: \"test\", devices: { \(list.joined(separator: ", ")) }, gpsd: { port: \(gpsd) } }"
    }
    let hub = HubProcess(board: board(("roof", roof.path)))
    let client = SocketClient(port: gpsd)
    client.send("?WATCH={\"enable\":true,\"json\":true,\"device\":\"\(roof.path)\"};")
    var second = 0
    func drive(until isDone: () -> Bool) -> Bool {
      eventually {
        second += 1
        roof.write(epoch(second))
        // The receiver drives elsewhere and has no clients yet.
        mast.writeNow(epoch(second, hasFix: false))
        return isDone()
      }
    }
    func positions() -> [Report] { GPSDTruthTests.reports(client.text, "TPV").filter { $0.lat != nil } }
    #expect(drive { positions().count > 2 })
    var count = positions().count
    HubProcess.write(board(("roof", roof.path), ("mast", mast.path)), to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(eventually { hub.devicesNow.devices.count == 2 })
    #expect(drive { positions().count > count + 3 })
    count = positions().count
    // The names are swapped, and each path stays with its receiver.
    HubProcess.write(board(("mast", roof.path), ("roof", mast.path)), to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(drive { positions().count > count + 3 })
    #expect(GPSDTruthTests.reports(client.text, "TPV").allSatisfy { $0.device == roof.path })
  }

  @Test func `one epoch without a fix clears no position, and a receiver that disappears is reported`() {
    let receiver = PseudoTerminal()
    let hub = HubProcess(
      board: """
        { name: "test", devices: { gps: { driver: "nmea", port: "\(receiver.path)", power: { lingerSeconds: 0.2 } } },
          gpsd: { port: \(gpsd) }, nmea: { port: \(nmea), source: "fused" } }
        """)
    let client = SocketClient(port: gpsd)
    let plotter = SocketClient(port: nmea)
    client.send(GPSDTruthTests.watch)
    #expect(hub.shows("gps", "acquiring"))
    var second = 0
    func positions() -> [Report] { GPSDTruthTests.reports(client.text, "TPV").filter { $0.lat != nil } }
    func drive(_ count: Int) {
      for _ in 0..<count {
        second += 1
        let before = positions().count
        receiver.write(epoch(second))
        #expect(eventually { positions().count > before })
      }
    }
    drive(4)
    // The sentence has a correct checksum and absurd content.
    receiver.write(
      SentenceWriter.make("GNGGA,120030.00,5231.0000,N,01322.0000,E,1,08,0.9,999999999999999999,M,40.0,M,,"))
    drive(1)
    client.forget()
    plotter.forget()
    second += 1
    receiver.write(epoch(second, hasFix: false))
    drive(2)
    let seen = GPSDTruthTests.reports(client.text, "TPV")
    #expect(seen.allSatisfy { $0.mode == 3 && $0.lat != nil }, "\(client.text)")
    #expect(!plotter.text.contains(",V,"), "\(plotter.text)")
    #expect(zip(seen, seen.dropFirst()).allSatisfy { ($0.time ?? "") < ($1.time ?? "") })
    client.send("?DEVICE;")
    #expect(eventually { GPSDTruthTests.reports(client.text, "DEVICE").contains { $0.cycle == 1 } }, "\(client.text)")
    client.forget()
    receiver.hangUp()
    // The board file states no speed. The speed was found out, and stays known.
    let device =
      "{\"class\":\"DEVICE\",\"path\":\"\(receiver.path)\",\"driver\":\"NMEA0183\",\"native\":0,\"bps\":"
    #expect(client.receives(device), "\(client.text)")
    #expect(hub.stop() == 0)
  }

  @Test func `a poll reports the same as a watch, and nothing of sleeping devices`() throws {
    let hub = HubProcess.simulated(gpsd: gpsd, nmea: nmea)
    let watcher = SocketClient(port: gpsd)
    watcher.send(GPSDTruthTests.watch)
    #expect(eventually { GPSDTruthTests.reports(watcher.text, "TPV").contains { $0.mode == 3 } })
    let poller = SocketClient(port: gpsd)
    #expect(eventually { poller.text.contains("\"class\":\"VERSION\"") })
    for _ in 0..<5 {
      poller.forget()
      poller.send("?POLL;")
      #expect(eventually { poller.text.contains("\"sky\":[") && poller.text.hasSuffix("\r\n") })
      let poll = try #require(Poll(poller.text))
      let whole = watcher.text.split(separator: "\r\n", omittingEmptySubsequences: false).dropLast()
      let watched = try #require(whole.last { $0.hasPrefix("{\"class\":\"TPV\"") })
      #expect(poll.active == 1)
      let tpv = try #require(poll.tpv)
      #expect(tpv.mode == 3)
      // The fused object, with everything that the other has.
      for member in [
        "\"ecefx\":", "\"epx\":", "\"eps\":", "\"epc\":", "\"sep\":", "\"magvar\":", "\"device\":\"simulated/gps\"",
      ] {
        #expect(poller.text.contains(member) && watched.contains(member), "\(member)")
      }
      // The poll has its own time, which is never before that of the contained object.
      #expect(poll.time >= (tpv.time ?? "9"), "\(poller.text)")
    }
    watcher.leave()
    #expect(hub.comesToRest())
    poller.forget()
    poller.send("?POLL;")
    #expect(eventually { poller.text.contains("\"active\":0,\"tpv\":[],\"gst\":[],\"sky\":[]}") }, "\(poller.text)")
    #expect(hub.devicesNow.devices.allSatisfy { $0.wakes == 1 })
    #expect(hub.stop() == 0)
  }

  private struct Poll: Decodable {
    var time: String
    var active: Int
    private var tpvs: [Report]
    var tpv: Report? { tpvs.first }

    enum CodingKeys: String, CodingKey { case time, active, tpvs = "tpv" }

    init?(_ text: String) {
      guard let poll = try? JSONDecoder().decode(Poll.self, from: Data(text.utf8)) else { return nil }
      self = poll
    }
  }

  @Test func `devices are reported when they wake, and again after a reload`() {
    let hub = HubProcess.simulated(gpsd: gpsd, nmea: nmea)
    let client = SocketClient(port: gpsd)
    client.send("?DEVICES;")
    #expect(client.receives("\"class\":\"DEVICES\""))
    #expect(!client.text.contains("\"activated\""), "\(client.text)")
    client.send(GPSDTruthTests.watch)
    func activated(_ path: String) -> Bool {
      GPSDTruthTests.reports(client.text, "DEVICE").contains { $0.path == path && ($0.activated?.count ?? 0) == 24 }
    }
    #expect(eventually { activated("simulated/gps") && activated("simulated/i2c") }, "\(client.text)")
    func times() -> [String: String] {
      Dictionary(
        GPSDTruthTests.reports(client.text, "DEVICE").map { ($0.path ?? "", $0.activated ?? "off") },
        uniquingKeysWith: { $0 == $1 ? $0 : "\($0), \($1)" })
    }
    let count = GPSDTruthTests.reports(client.text, "DEVICE").count
    client.send("?DEVICE={\"path\":\"simulated/gps\"};?DEVICE={\"path\":\"simulated/i2c\"};")
    #expect(eventually { GPSDTruthTests.reports(client.text, "DEVICE").count >= count + 2 })
    let before = times()
    client.forget()
    HubProcess.write(HubProcess.simulatedBoard(gpsd: gpsd, nmea: nmea, fused: true), to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(eventually { activated("simulated/gps") && activated("simulated/i2c") }, "\(client.text)")
    // The values have changed in the meantime, and so has their time.
    #expect(times() == before, "\(client.text)")
    #expect(hub.stop() == 0)
  }

  @Test func `a watch of a device ends when the device is removed, and keeps nothing awake after that`() {
    let hub = HubProcess.simulated(gpsd: gpsd, nmea: nmea)
    let client = SocketClient(port: gpsd)
    // Some programs write their objects this way.
    client.send("?WATCH={\n\"enable\":true,\n\"json\":true,\n\"device\":\"simulated/i2c\"\n}\n")
    #expect(eventually { GPSDTruthTests.reports(client.text, "ATT").count > 2 }, "\(client.text)")
    #expect(!client.text.contains("ERROR"))
    HubProcess.write(
      """
      { name: "test", gpsd: { port: \(gpsd) },
        devices: { gps: { driver: "nmea", port: "simulated/gps", power: { switch: "gpio", chip: "simulated", line: "gps-power", lingerSeconds: 0.2 } } } }
      """, to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(client.receives("The board has no simulated/i2c any more"), "\(client.text)")
    #expect(eventually { hub.devicesNow.devices.allSatisfy { $0.power == "off" && $0.holders.isEmpty } })
    client.forget()
    client.send(GPSDTruthTests.watch)
    #expect(eventually { GPSDTruthTests.reports(client.text, "TPV").contains { $0.mode == 3 } })
    #expect(hub.stop() == 0)
  }

  @Test func `attitudes name the IMU, and come with each epoch or at the requested rate`() {
    let hub = HubProcess.simulated(gpsd: gpsd, nmea: nmea)
    let ordinary = SocketClient(port: gpsd)
    ordinary.send(GPSDTruthTests.watch)
    let quick = SocketClient(port: gpsd)
    quick.send("?WATCH={\"enable\":true,\"json\":true,\"attitudeRate\":25};")
    let alone = SocketClient(port: gpsd)
    alone.send("?WATCH={\"enable\":true,\"json\":true,\"device\":\"simulated/i2c\"};")
    func attitudes(_ client: SocketClient) -> [Report] { GPSDTruthTests.reports(client.text, "ATT") }
    func positions(_ client: SocketClient) -> [Report] { GPSDTruthTests.reports(client.text, "TPV") }
    let clients = [ordinary, quick, alone]
    // Between two positions there is one attitude, or as many as requested.
    #expect(eventually { positions(ordinary).contains { $0.mode == 3 } })
    for client in clients { client.forget() }
    #expect(
      eventually {
        positions(ordinary).count > 20 && positions(quick).count > 20 && attitudes(alone).count > 20
      })
    // After a delay the machine has every epoch, but only the last attitude. Then the check is repeated.
    func comes(to client: SocketClient, _ isAsAsked: (_ attitudes: Int, _ positions: Int) -> Bool) -> Bool {
      eventually {
        // The objects received so far, of both kinds.
        let reports = GPSDTruthTests.reports(client.text)
        let (attitudes, positions) = (reports.count { $0.class == "ATT" }, reports.count { $0.class == "TPV" })
        if positions > 20, isAsAsked(attitudes, positions) { return true }
        if positions > 40 { client.forget() }
        return false
      }
    }
    #expect(comes(to: ordinary) { abs($0 - $1) < 5 }, "\(ordinary.text)")
    #expect(comes(to: quick) { $0 > 3 * $1 }, "\(quick.text)")
    #expect(positions(alone).isEmpty)
    for client in clients {
      let reports = attitudes(client)
      #expect(reports.allSatisfy { $0.device == "simulated/i2c" })
      #expect(zip(reports, reports.dropFirst()).allSatisfy { ($0.time ?? "") < ($1.time ?? "") })
      #expect(zip(positions(client), positions(client).dropFirst()).allSatisfy { ($0.time ?? "") < ($1.time ?? "") })
    }
    #expect(hub.stop() == 0)
  }

  @Test func `a client that joins receives the current state at once, without taking reports from other clients`()
    throws
  {
    let hub = HubProcess.simulated(gpsd: gpsd, nmea: nmea)
    let steady = SocketClient(port: gpsd)
    steady.send(GPSDTruthTests.watch)
    func positions(_ client: SocketClient) -> [Report] { GPSDTruthTests.reports(client.text, "TPV") }
    func grow(_ reports: [Report]) -> Bool {
      zip(reports, reports.dropFirst()).allSatisfy { ($0.time ?? "") < ($1.time ?? "") }
    }
    #expect(eventually { positions(steady).contains { $0.mode == 3 } })
    for _ in 0..<10 {
      let client = SocketClient(port: gpsd)
      client.send(GPSDTruthTests.watch)
      #expect(eventually { positions(client).count > 2 })
      // The same is true for a client that only paused.
      client.send("?WATCH={\"enable\":false};?WATCH={\"enable\":true};")
      let seen = positions(client).count
      #expect(eventually { positions(client).count > seen + 3 })
      #expect(positions(client).allSatisfy { $0.mode == 3 && $0.lat != nil }, "\(client.text)")
      #expect(grow(positions(client)), "\(client.text)")
    }
    #expect(grow(positions(steady).filter { $0.mode == 3 }))
    // A client that stays gets each epoch's position. If the machine delays its IMU for two epochs, both have one
    // position. Then the check is repeated.
    let isAllTold = eventually {
      steady.forget()
      let haveComeAndGone = eventually {
        let guests = (0..<10).map { _ in
          let guest = Peer(gpsd)
          guest.send(GPSDTruthTests.watch)
          return guest
        }
        return eventually { guests.allSatisfy { $0.text.contains("\"mode\":3") } }
          && GPSDTruthTests.reports(steady.text, "SKY").count > 40
      }
      let skies = GPSDTruthTests.reports(steady.text, "SKY").count
      return haveComeAndGone && positions(steady).count * 10 > skies * 9
    }
    #expect(isAllTold, "\(steady.text)")
    #expect(grow(positions(steady)))
    steady.leave()
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }

  @Test func `a client receives each epoch once, however many others come and go`() throws {
    // Of the receiver alone: with an IMU a position is of its newest sample, which may be the same in two epochs on a machine that is
    // held up for as long.
    let hub = HubProcess(
      board: HubProcess.simulatedBoard("gpsd: { port: \(gpsd), parts: [\"position\"] }, nmea: { port: \(nmea) }"))
    let plotter = SocketClient(port: nmea)
    #expect(eventually { !plotter.text.isEmpty })
    let steady = SocketClient(port: gpsd)
    steady.send(GPSDTruthTests.watch)
    // Returns the times of day that the receiver sent, and those that the client got.
    func sent() -> [Substring] {
      var times: [Substring] = []
      for line in plotter.text.split(separator: "\r\n") {
        let fields: [Substring] = line.split(separator: ",", omittingEmptySubsequences: false)
        if fields.count > 6, fields[0].hasSuffix("GGA"), fields[6] != "0" { times.append(fields[1]) }
      }
      return times
    }
    func told() -> [Substring] {
      var times: [Substring] = []
      for report in GPSDTruthTests.reports(steady.text, "TPV") where report.mode == 3 {
        let timeOfDay: Substring = (report.time ?? "").dropFirst("2026-11-26T".count)
        let digits: String = timeOfDay.filter { $0 != ":" }
        times.append(digits.prefix("120000.00".count))
      }
      return times
    }
    #expect(eventually { !told().isEmpty })
    let haveComeAndGone = eventually {
      let guests = (0..<10).map { _ in
        let guest = Peer(gpsd)
        guest.send(GPSDTruthTests.watch)
        return guest
      }
      return eventually { guests.allSatisfy { $0.text.contains("\"mode\":3") } } && told().count > 40
    }
    #expect(haveComeAndGone)
    let known = told()
    #expect(eventually { known.allSatisfy(sent().contains) }, "\(known) of \(sent())")
    let first = try #require(sent().firstIndex { $0 == known.first })
    #expect(Array(sent()[first...].prefix(known.count)) == known)
    #expect(hub.stop() == 0)
  }

  @Test func `a client that joins between two epochs of a slow receiver gets no report without a fix`() {
    let receiver = PseudoTerminal()
    let fused = SocketClient.freePort()
    let hub = HubProcess(
      board: """
        { name: "test", devices: { gps: { driver: "nmea", port: "\(receiver.path)", power: { lingerSeconds: 0.2 } } },
          gpsd: { port: \(gpsd) }, nmea: [{ port: \(nmea) }, { port: \(fused), source: "fused" }] }
        """)
    var second = 0
    func drive(until isDone: () -> Bool) -> Bool {
      eventually {
        second += 1
        receiver.write(epoch(second))
        return isDone()
      }
    }
    // This client keeps the receiver awake without the fusion.
    let first = SocketClient(port: nmea)
    #expect(hub.shows("gps", "acquiring"))
    #expect(drive { first.text.contains(",A,5231.0000") && hub.devicesNow["gps"].power == "tracking" })
    let watcher = SocketClient(port: gpsd)
    watcher.send(GPSDTruthTests.watch)
    func positions() -> [Report] { GPSDTruthTests.reports(watcher.text, "TPV") }
    #expect(drive { positions().count > 3 })
    #expect(positions().prefix(4).allSatisfy { $0.mode == 3 && $0.lat != nil }, "\(watcher.text)")
    #expect(zip(positions(), positions().dropFirst()).allSatisfy { ($0.time ?? "") < ($1.time ?? "") })
    let plotter = SocketClient(port: fused)
    #expect(drive { plotter.text.contains("GGA,") })
    #expect(plotter.text.hasPrefix("$GPRMC,12"), "\(plotter.text)")
    // Values that the receiver has not stated are not invented.
    let late = SocketClient(port: nmea)
    #expect(drive { late.text.contains("GGA,") })
    #expect(!late.text.contains("$GPRMC"), "\(late.text)")
    #expect(hub.stop() == 0)
  }

  @Test func `in a tunnel every report has a position, and their times increase`() async throws {
    // The clock runs slower, so an epoch that a busy machine's thread delivers late is less late by it.
    let clock = SlowClock(timesSlower: 2)
    var receiver = SimulatedReceiver.Configuration()
    receiver.satelliteTime = clock.systemTime
    // The world is fifteen seconds old when the hub begins.
    receiver.tunnel = SimulatedReceiver.Tunnel(period: .seconds(1000), entrance: .seconds(27), length: .seconds(6))
    let board = try Board(
      json5: Array(HubProcess.simulatedBoard("state: { rateHz: 10 }").utf8), file: "test")
    let hardware = SimulatedHardware(clock: clock, receiver: receiver)
    let hub = Hub(board: board, on: Machine(hardware: hardware, clock: clock, systemTime: clock.systemTime))
    let moments = GPSDMoments(host: HubHost(hub, version: "test"), includesAttitude: true)
    let seen = Recorder<(state: FusedState, lines: String, sentences: String)>()
    let subscription = hub.state.subscribe(
      as: "test",
      receiveValue: { state in
        moments.withBytes(of: state) { bytes, _ in
          seen.append((state, String(decoding: bytes, as: UTF8.self), FusedSentences.make(of: state)))
        }
      })
    let all = await seen.values { seen in
      guard let last = seen.lastIndex(where: { $0.state.mode == .deadReckoning }) else { return false }
      return seen[last...].contains { $0.state.mode == .fused && $0.state.fix?.value.mode == 3 }
    }
    subscription.cancel()
    await hub.isOff()
    let first = try #require(all.firstIndex { $0.state.mode == .fused })
    let positions = all[first...].flatMap { GPSDTruthTests.reports($0.lines, "TPV") }
    #expect(positions.count > 20)
    #expect(positions.allSatisfy { $0.mode == 3 && $0.lat != nil })
    #expect(zip(positions, positions.dropFirst()).allSatisfy { ($0.time ?? "") < ($1.time ?? "") })
    #expect(all[first...].allSatisfy { !$0.sentences.contains(",V,") })
    // The receiver is in the tunnel from its first epoch on, long before the hub calls it dead reckoning.
    let blind = all[first...].filter { $0.state.fix?.value.mode == 1 }
    #expect(blind.contains { $0.state.mode == .fused })
    #expect(blind.flatMap { GPSDTruthTests.reports($0.lines, "TPV") }.allSatisfy { $0.status == 5 })
    #expect(blind.allSatisfy { $0.sentences.contains(",E,6,") })
  }
}
