import Hub
import NMEA
import TestSupport
import Testing

@testable import Outputs

/// Whether the gpsd port and the sentences report the values that receivers on serial lines have sent. The test sends
/// each epoch after the previous one has been reported.
@Suite(.timeLimit(.minutes(10))) struct GPSDReceiverReportsTests {
  private let gpsd = SocketClient.freePort()
  private let nmea = SocketClient.freePort()

  /// An epoch in the receiver's own format; without a fix under a bridge.
  private func epoch(_ second: Int, hasFix: Bool = true) -> String {
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

  /// Sends one epoch after the other until the condition is met. Returns false if a client got no report of an epoch.
  private func drive(_ send: () -> Bool, until isDone: () throws -> Bool) rethrows -> Bool {
    for _ in 0..<10_000 {
      guard send() else { return false }
      if try isDone() { return true }
    }
    return false
  }

  private func places(_ client: WireClient) -> [ClientReport] {
    client.takeArrived()
    return client.reports("TPV").filter { $0.lat != nil }
  }

  private func haveAscendingTimes(_ reports: [ClientReport]) -> Bool {
    zip(reports, reports.dropFirst()).allSatisfy { ($0.time ?? "") < ($1.time ?? "") }
  }

  @Test func `satellites, sentences and the device name are those of the receiver in use`() async throws {
    let (roof, mast) = (PseudoTerminal(), PseudoTerminal())
    let hub = try ServedHub(
      board: """
        { name: "test", devices: {
            roof: { driver: "nmea", port: "\(roof.path)", power: { lingerSeconds: 0.2 } },
            mast: { driver: "nmea", port: "\(mast.path)", power: { lingerSeconds: 0.2 } } },
          gpsd: { port: \(gpsd) }, nmea: { port: \(nmea) } }
        """)
    let (client, plotter, ofRoof) = (WireClient(port: gpsd), WireClient(port: nmea), WireClient(port: gpsd))
    client.watch()
    ofRoof.watch(#""json":true,"device":"\#(roof.path)""#)
    #expect(hub.shows("roof", .acquiring) && hub.shows("mast", .acquiring))
    var second = 0
    var own: [ClientReport] = []
    // The preferred receiver stands under a bridge.
    func send() -> Bool {
      second += 1
      ofRoof.forget()
      roof.write(epoch(second, hasFix: false))
      mast.write(epoch(second) + SentenceWriter.make("GPGSV,1,1,01,02,45,090,40,1"))
      defer { own += ofRoof.reports("TPV") }
      return ofRoof.reads { !ofRoof.reports("TPV").isEmpty }
    }
    let hasMast = drive(send) { !places(client).isEmpty && client.reports("SKY").count > 2 }
    #expect(hasMast, "\(client.text)")
    #expect(places(client).allSatisfy { $0.device == mast.path })
    #expect(client.reports("SKY").last?.device == mast.path)
    let paths = client.reports("DEVICE").compactMap(\.path)
    #expect(paths.contains(roof.path) && paths.contains(mast.path), "\(client.text)")
    // The sentences are of one receiver, and not mixed.
    plotter.forget()
    own = []
    let isLong = drive(send) {
      plotter.takeArrived()
      return plotter.text.count > 2000 && own.count > 3
    }
    #expect(isLong)
    let heard = plotter.lines.dropFirst().filter { $0.contains("RMC") }
    #expect(!heard.isEmpty && heard.allSatisfy { $0.contains(",A,5231.0000,N,") }, "\(heard)")
    // A client that watches one receiver gets its values.
    #expect(own.allSatisfy { $0.device == roof.path && $0.lat == nil })
    client.forget()
    client.send("?POLL;")
    #expect(client.reads { !client.reports("POLL").isEmpty })
    // Each list has one entry for each active device. The last entry is checked, because clients read that one.
    let poll = String(client.lines.first { $0.hasPrefix("{\"class\":\"POLL\"") } ?? "")
    let devices = poll.split(separator: "\"class\":\"TPV\",\"device\":\"").dropFirst().map { $0.prefix { $0 != "\"" } }
    #expect(devices.map(String.init) == [roof.path, mast.path], "\(poll)")
    await hub.end()
  }

  @Test func `a watch of a receiver by its path continues when the board file adds a receiver or swaps the order`()
    async throws
  {
    let (roof, mast) = (PseudoTerminal(), PseudoTerminal())
    func board(_ devices: (id: String, path: String)...) -> String {
      let list = devices.map { "\($0.id): { driver: \"nmea\", port: \"\($0.path)\", power: { lingerSeconds: 0 } }" }
      return "{ name: \"test\", devices: { \(list.joined(separator: ", ")) }, gpsd: { port: \(gpsd) } }"
    }
    let hub = try ServedHub(board: board(("roof", roof.path)))
    let client = WireClient(port: gpsd)
    client.watch(#""json":true,"device":"\#(roof.path)""#)
    #expect(hub.shows("roof", .acquiring))
    var second = 0
    func drive() {
      for _ in 0..<4 {
        second += 1
        let known = places(client).count
        roof.write(epoch(second))
        // The other receiver drives elsewhere and has no clients yet.
        mast.writeNow(epoch(second, hasFix: false))
        #expect(client.reads { places(client).count > known }, "\(client.text)")
      }
    }
    drive()
    try await hub.reload(board(("roof", roof.path), ("mast", mast.path)))
    #expect(hub.hub.devices.count == 2)
    drive()
    // The names are swapped, and each path stays with its receiver.
    try await hub.reload(board(("mast", roof.path), ("roof", mast.path)))
    #expect(hub.shows("mast", .acquiring))
    drive()
    #expect(client.reports("TPV").allSatisfy { $0.device == roof.path })
    await hub.end()
  }

  @Test func `one epoch without a fix clears no position, and a receiver that disappears is reported`() async throws {
    let receiver = PseudoTerminal()
    let hub = try ServedHub(
      board: """
        { name: "test", devices: { gps: { driver: "nmea", port: "\(receiver.path)", power: { lingerSeconds: 0.2 } } },
          gpsd: { port: \(gpsd) }, nmea: { port: \(nmea), source: "fused" } }
        """)
    let (client, plotter) = (WireClient(port: gpsd), WireClient(port: nmea))
    client.watch()
    #expect(hub.shows("gps", .acquiring))
    var second = 0
    func drive(_ count: Int) {
      for _ in 0..<count {
        second += 1
        let known = places(client).count
        receiver.write(epoch(second))
        #expect(client.reads { places(client).count > known }, "\(client.text)")
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
    drive(4)
    let seen = client.reports("TPV")
    #expect(seen.allSatisfy { $0.mode == 3 && $0.lat != nil }, "\(client.text)")
    plotter.takeArrived()
    #expect(!plotter.text.contains(",V,"), "\(plotter.text)")
    #expect(haveAscendingTimes(seen))
    client.send("?DEVICE;")
    #expect(client.reads { client.reports("DEVICE").contains { $0.cycle == 1 } }, "\(client.text)")
    client.forget()
    receiver.hangUp()
    // The board file states no speed. The speed was found out, and stays known.
    let device =
      "{\"class\":\"DEVICE\",\"path\":\"\(receiver.path)\",\"driver\":\"NMEA0183\",\"native\":0,\"bps\":"
    #expect(client.receives(device), "\(client.text)")
    await hub.end()
  }

  @Test func `a client that joins between two epochs of a slow receiver gets no report without a fix`() async throws {
    let receiver = PseudoTerminal()
    let fused = SocketClient.freePort()
    let hub = try ServedHub(
      board: """
        { name: "test", devices: { gps: { driver: "nmea", port: "\(receiver.path)", power: { lingerSeconds: 0.2 } } },
          gpsd: { port: \(gpsd) }, nmea: [{ port: \(nmea) }, { port: \(fused), source: "fused" }] }
        """)
    // This client keeps the receiver awake without the fusion, and gets each epoch.
    let first = WireClient(port: nmea)
    #expect(hub.shows("gps", .acquiring))
    var second = 0
    func send() -> Bool {
      second += 1
      first.forget()
      receiver.write(epoch(second))
      return first.receives("GSA,")
    }
    let isTracking = try drive(send) { try hub.device("gps").power == .tracking }
    #expect(isTracking)
    let watcher = WireClient(port: gpsd)
    watcher.watch()
    #expect(watcher.receives("\"class\":\"WATCH\""))
    func positions() -> [ClientReport] {
      watcher.takeArrived()
      return watcher.reports("TPV")
    }
    for _ in 0..<4 {
      let known = positions().count
      #expect(send() && watcher.reads { positions().count > known }, "\(watcher.text)")
    }
    #expect(positions().prefix(4).allSatisfy { $0.mode == 3 && $0.lat != nil }, "\(watcher.text)")
    #expect(haveAscendingTimes(positions()))
    let plotter = WireClient(port: fused)
    /// Sends an epoch, and waits until it has been fused.
    func fuse() -> Bool {
      watcher.forget()
      return send() && watcher.receives("\"class\":\"TPV\"")
    }
    let hasFused = drive(fuse) {
      plotter.takeArrived()
      return plotter.text.contains("GGA,")
    }
    #expect(hasFused)
    #expect(plotter.text.hasPrefix("$GPRMC,12"), "\(plotter.text)")
    // Values that the receiver has not stated are not invented.
    let late = WireClient(port: nmea)
    let hasReceived = drive(fuse) {
      late.takeArrived()
      return late.text.contains("GGA,")
    }
    #expect(hasReceived)
    #expect(!late.text.contains("$GPRMC"), "\(late.text)")
    await hub.end()
  }
}
