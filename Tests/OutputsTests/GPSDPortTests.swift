import Glibc
import Hub
import Simulation
import TestSupport
import Testing

@testable import Outputs

/// The gpsd protocol of a hub with a simulated receiver and IMU, on its port.
@Suite(.timeLimit(.minutes(10))) struct GPSDPortTests {
  private let gpsd = SocketClient.freePort()
  private let nmea = SocketClient.freePort()

  private func hub(on hardware: SimulatedHardware = SimulatedHardware()) throws -> ServedHub {
    try ServedHub("gpsd: { port: \(gpsd) }, nmea: { port: \(nmea) }", on: hardware)
  }

  /// Hardware whose receiver has ten epochs a second, for tests that wait for many.
  private var quickHardware: SimulatedHardware {
    var receiver = SimulatedReceiver.Configuration()
    receiver.rateHz = 10
    return SimulatedHardware(receiver: receiver)
  }

  /// A client with a watch of everything.
  private func watcher() -> WireClient {
    let client = WireClient(port: gpsd)
    client.watch()
    return client
  }

  private func hasFix(_ client: WireClient) -> Bool { client.receives("\"mode\":3") }

  @Test func `a connection, a POLL and a list of devices wake nothing`() async throws {
    let hub = try hub()
    let client = WireClient(port: gpsd)
    #expect(client.receives("\r\n"))
    #expect(client.text.hasPrefix("{\"class\":\"VERSION\""))
    for round in 1...100 {
      client.forget()
      for _ in 0..<10 { client.send("?POLL;?DEVICES;?WATCH;") }
      // The client reads while it sends requests, because the hub closes a connection with more than 64 waiting
      // answers.
      try #require(client.reads { client.lines.count == 40 }, "\(client.lines.count) lines in round \(round)")
    }
    #expect(client.text.contains("\"tpv\":[],\"gst\":[],\"sky\":[]"))
    #expect(hub.hasWokenNothing)
    await hub.end()
  }

  @Test
  func `enabling a watch wakes the devices, changing it does not wake them again, and disabling it lets them sleep`()
    async throws
  {
    let hub = try hub()
    let client = watcher()
    #expect(hasFix(client))
    client.send("?WATCH={\"nmea\":true}")
    #expect(client.receives("$GNGGA,"))
    #expect(try hub.device("gps").holders.count == 1)
    let observer = WireClient(port: gpsd)
    observer.send("?POLL;")
    #expect(observer.receives("\"active\":1,\"tpv\":[{\"class\":\"TPV\""), "\(observer.text)")
    client.send("?WATCH={\"enable\":false}")
    #expect(hub.comesToRest())
    #expect(client.isOpen)
    #expect(try hub.device("gps").wakes == 1)
    await hub.end()
  }

  @Test func `a watch keeps the receiver awake while a client only polls, and still works after a pause`() async throws
  {
    let hub = try hub()
    let client = WireClient(port: gpsd)
    client.send("?WATCH={\"enable\":true}")
    // The watch without reports wakes the devices. Another client shows when they have a position.
    #expect(hub.shows("gps", .settling, .acquiring, .tracking))
    let other = watcher()
    #expect(other.receives("\"lat\":") && other.receives("\"class\":\"SKY\""))
    #expect(try hub.device("gps").holders.count == 2)
    other.leave()
    #expect(hub.shows("gps") { $0.holders.count == 1 })
    client.send("?POLL;")
    #expect(client.receives("\"active\":1,\"tpv\":[{\"class\":\"TPV\""), "\(client.text)")
    #expect(client.receives("\"sky\":[{\"class\":\"SKY\""), "\(client.text)")
    client.send("?WATCH={\"json\":true};?WATCH={\"enable\":false};")
    #expect(hub.comesToRest())
    client.forget()
    client.send("?WATCH={\"enable\":true};")
    #expect(client.receives("{\"class\":\"TPV\""))
    client.leave()
    #expect(hub.comesToRest())
    await hub.end()
  }

  @Test func `a client that requests the sentences of the IMU gets none, and does not wake the receiver`() async throws
  {
    let hub = try hub()
    let client = WireClient(port: gpsd)
    client.watch(#""json":true,"nmea":true,"device":"simulated/i2c""#)
    #expect(client.receives("\"class\":\"ATT\""))
    #expect(try hub.device("gps").wakes == 0)
    #expect(!client.text.contains("\n$"), "\(client.text)")
    await hub.end()
  }

  @Test func `a watch of the pulse gets the offset between the clocks`() async throws {
    let hub = try hub()
    let client = WireClient(port: gpsd)
    client.watch(#""pps":true"#)
    #expect(client.receives("{\"class\":\"TOFF\",\"device\":\"simulated/gps\",\"real_sec\":"))
    #expect(!client.text.contains("\"class\":\"TPV\""))
    #expect(try hub.device("imu").wakes == 0)
    client.leave()
    #expect(hub.comesToRest())
    await hub.end()
  }

  @Test func `an impossible request is answered with an error that says why`() async throws {
    let hub = try hub()
    let requests = [
      ("?WATCH={\"device\":\"/dev/nothing\"};", "No such device: /dev/nothing"),
      ("?WATCH={\"enable\":\"yes\"};", "Invalid WATCH"),
      ("?DEVICE={\"path\":\"/dev/nothing\"};", "Can't open /dev/nothing"),
      ("?DEVICE={\"bps\":4800};", "No path specified in DEVICE"),
      ("?DEVICE={\"path\":\"simulated/gps\",\"bps\":4800,\"native\":0};", "Can't set bps of simulated/gps"),
      ("?REBOOT;", "Unrecognized request 'REBOOT'"),
    ]
    for (request, message) in requests {
      let client = WireClient(port: gpsd)
      client.send(request)
      #expect(client.receives("{\"class\":\"ERROR\",\"message\":\"\(message)"), "\(client.text)")
      #expect(hub.hasWokenNothing, "\(request)")
    }
    await hub.end()
  }

  @Test func `clients that connect at different times get the same attitudes`() async throws {
    let hub = try hub()
    func attitudes(_ client: WireClient) -> [Substring] {
      client.lines.filter { $0.hasPrefix("{\"class\":\"IMU\"") }
    }
    var clients = [watcher()]
    let first = clients[0]
    #expect(first.reads { !attitudes(first).isEmpty })
    for _ in 0..<5 {
      let client = watcher()
      #expect(client.reads { attitudes(client).count > 3 })
      clients.append(client)
    }
    // All clients got the states between the first and the last one of the latest client.
    let common = attitudes(clients[5]).dropFirst().prefix(2)
    for client in clients { #expect(client.reads { common.allSatisfy(attitudes(client).contains) }) }
    await hub.end()
  }

  @Test func `attitudes name the IMU, and come with each epoch or at the requested rate`() async throws {
    let hub = try hub()
    let (ordinary, quick, alone) = (watcher(), WireClient(port: gpsd), WireClient(port: gpsd))
    quick.watch(#""json":true,"attitudeRate":25"#)
    alone.watch(#""json":true,"device":"simulated/i2c""#)
    let clients = [ordinary, quick, alone]
    // Between two positions there is one attitude, or as many as requested.
    #expect(hasFix(ordinary))
    for client in clients { client.forget() }
    // A forgotten part of a line may be left at the beginning.
    for client in clients { #expect(client.reads { client.reports("ATT").count > 20 }) }
    // After a delay the machine has every epoch, but only the last attitude. Then the check is repeated.
    func comes(to client: WireClient, _ isAsAsked: (_ attitudes: Int, _ positions: Int) -> Bool) -> Bool {
      client.reads {
        let (attitudes, positions) = (client.reports("ATT").count, client.reports("TPV").count)
        if positions > 20, isAsAsked(attitudes, positions) { return true }
        if positions > 40 { client.forget() }
        return false
      }
    }
    #expect(comes(to: ordinary) { abs($0 - $1) < 5 }, "\(ordinary.text)")
    #expect(comes(to: quick) { $0 > 3 * $1 }, "\(quick.text)")
    #expect(alone.reports("TPV").isEmpty)
    for client in clients {
      #expect(client.reports("ATT").allSatisfy { $0.device == "simulated/i2c" })
      for name in ["ATT", "TPV"] { #expect(haveAscendingTimes(client.reports(name))) }
    }
    await hub.end()
  }

  private func haveAscendingTimes(_ reports: [ClientReport]) -> Bool {
    zip(reports, reports.dropFirst()).allSatisfy { ($0.time ?? "") < ($1.time ?? "") }
  }

  @Test func `a poll reports the same as a watch, and nothing of sleeping devices`() async throws {
    let hub = try hub()
    let watcher = watcher()
    #expect(hasFix(watcher))
    let poller = WireClient(port: gpsd)
    #expect(poller.receives("\"class\":\"VERSION\""))
    for _ in 0..<5 {
      poller.forget()
      poller.send("?POLL;")
      #expect(poller.reads { poller.lines.last?.contains("\"sky\":[") == true })
      let text = poller.text
      // The watcher has a position at least as new.
      watcher.forget()
      #expect(watcher.reads { watcher.lines.contains { $0.hasPrefix("{\"class\":\"TPV\"") } })
      let watched = try #require(watcher.lines.last { $0.hasPrefix("{\"class\":\"TPV\"") })
      // The poll has its own time, which is never before that of the contained object.
      let times = text.split(separator: "\"time\":\"").dropFirst().map { String($0.prefix(24)) }
      #expect(text.hasPrefix("{\"class\":\"POLL\"") && text.contains("\"active\":1,"), "\(text)")
      #expect(times.count > 1 && times[0] >= times[1], "\(text)")
      #expect(text.contains("\"mode\":3"))
      // The poll has the fused object, with the same members as the object of the watch.
      for member in [
        "\"ecefx\":", "\"epx\":", "\"eps\":", "\"epc\":", "\"sep\":", "\"magvar\":", "\"device\":\"simulated/gps\"",
      ] {
        #expect(text.contains(member) && watched.contains(member), "\(member)")
      }
    }
    watcher.leave()
    #expect(hub.comesToRest())
    poller.forget()
    poller.send("?POLL;")
    #expect(poller.receives("\"active\":0,\"tpv\":[],\"gst\":[],\"sky\":[]}"), "\(poller.text)")
    #expect(hub.hub.devices.allSatisfy { $0.wakes == 1 })
    await hub.end()
  }

  @Test func `a client that joins receives the current state at once, without taking reports from other clients`()
    async throws
  {
    let hub = try hub(on: quickHardware)
    let steady = watcher()
    #expect(hasFix(steady))
    for _ in 0..<10 {
      let client = watcher()
      #expect(client.reads { client.reports("TPV").count > 2 })
      // The same is true for a client that only paused.
      client.send("?WATCH={\"enable\":false};?WATCH={\"enable\":true};")
      let seen = client.reports("TPV").count
      #expect(client.reads { client.reports("TPV").count > seen + 3 })
      #expect(client.reports("TPV").allSatisfy { $0.mode == 3 && $0.lat != nil }, "\(client.text)")
      #expect(haveAscendingTimes(client.reports("TPV")), "\(client.text)")
      steady.takeArrived()
    }
    #expect(haveAscendingTimes(steady.reports("TPV").filter { $0.mode == 3 }))
    // A client that stays gets each epoch's position. If the machine delays its IMU for two epochs, both have one
    // position. Then the check is repeated.
    let isAllTold = (0..<5).contains { _ in
      steady.forget()
      while steady.reports("SKY").count <= 40 {
        let guests = (0..<10).map { _ in watcher() }
        guard guests.allSatisfy(hasFix) else { return false }
        steady.takeArrived()
      }
      return steady.reports("TPV").count * 10 > steady.reports("SKY").count * 9
    }
    #expect(isAllTold, "\(steady.text)")
    #expect(haveAscendingTimes(steady.reports("TPV")))
    steady.leave()
    #expect(hub.comesToRest())
    await hub.end()
  }

  @Test func `a client receives each epoch once, however many others come and go`() async throws {
    // The client requests only the position of the receiver. With an IMU, a position has the time of the newest sample,
    // and two epochs may have the same one on a machine that was busy in between.
    let hub = try ServedHub(
      "gpsd: { port: \(gpsd), parts: [\"position\"] }, nmea: { port: \(nmea) }", on: quickHardware)
    let plotter = WireClient(port: nmea)
    #expect(plotter.receives("\r\n"))
    let steady = watcher()
    // Returns the times of day that the receiver sent, and those that the client got.
    func sent() -> [Substring] {
      plotter.lines.compactMap { line in
        let fields = line.split(separator: ",", omittingEmptySubsequences: false)
        return fields.count > 6 && fields[0].hasSuffix("GGA") && fields[6] != "0" ? fields[1] : nil
      }
    }
    func told() -> [Substring] {
      steady.reports("TPV").filter { $0.mode == 3 }.map { report in
        let timeOfDay = (report.time ?? "").dropFirst("2026-11-26T".count)
        return timeOfDay.filter { $0 != ":" }.prefix("120000.00".count)
      }
    }
    #expect(steady.reads { !told().isEmpty })
    while told().count <= 40 {
      let guests = (0..<10).map { _ in watcher() }
      try #require(guests.allSatisfy(hasFix))
      steady.takeArrived()
      plotter.takeArrived()
    }
    let known = told()
    #expect(plotter.reads { known.allSatisfy(sent().contains) }, "\(known) of \(sent())")
    let first = try #require(sent().firstIndex { $0 == known.first })
    #expect(Array(sent()[first...].prefix(known.count)) == known)
    await hub.end()
  }
}
