import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// The TCP ports, with well-behaved and misbehaving clients.
@Suite(.serialized, .timeLimit(.minutes(10))) struct PortTests {
  private let gpsd = SocketClient.freePort()
  private let nmea = SocketClient.freePort()
  private static let watch = "?WATCH={\"enable\":true,\"json\":true};"

  init() { WireClient.allowCrowds() }

  /// The threads and descriptors of the process are counted.
  @Test func `ten thousand invalid requests on each port do no harm`() {
    let hub = HubProcess.simulated(gpsd: gpsd, nmea: nmea)
    let good = WireClient(port: gpsd)
    good.send(PortTests.watch)
    #expect(good.receives("\"mode\":3"))
    let before = hub.resources
    var random = SeededRandom()
    let seeds = [
      "?WATCH={\"enable\":true,\"json\":true,\"nmea\":true,\"raw\":2};", "?POLL;", "?DEVICES;\r\n", "$GPRMC,1*00\r\n",
    ]
    for port in [gpsd, nmea] {
      for _ in 0..<100 {
        let client = SocketClient(port: port)
        for _ in 0..<100 {
          var bytes = Array(seeds.randomElement(using: &random)!.utf8)
          for _ in 0..<Int.random(in: 0...4, using: &random) {
            bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
          }
          if Bool.random(using: &random) {
            bytes = Array(bytes.prefix(Int.random(in: 1...bytes.count, using: &random)))
          }
          client.sendNow(bytes)
        }
        client.leave()
      }
      // The inputs are lines without an end, and bytes that no protocol contains.
      let endless = SocketClient(port: port)
      for _ in 0..<64 { endless.sendNow([UInt8](repeating: UInt8(ascii: "{"), count: 16384)) }
      endless.sendNow([UInt8](repeating: 0, count: 4096) + [0xff, 0xfe, 0xc0, 0x80])
      endless.leave()
    }
    good.forget()
    #expect(good.reads { good.lineCount > 20 })
    #expect(eventually { zip(hub.resources, before).allSatisfy { $0 <= $1 } }, "\(before) became \(hub.resources)")
    #expect(hub.devicesNow["gps"].wakes == 1)
    good.leave()
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }

  @Test func `twenty clients that do not read delay none of two hundred others`() {
    let hub = HubProcess.simulated(gpsd: gpsd, nmea: nmea)
    let clients = (0..<180).map { _ in WireClient(port: gpsd) }
    let stalled = (0..<20).map { _ in SocketClient.connect(port: gpsd) }
    let request = Array((PortTests.watch + "?WATCH={\"nmea\":true};").utf8)
    for descriptor in stalled { _ = request.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) } }
    for client in clients { client.send(PortTests.watch) }
    for client in clients { #expect(client.receives("\"mode\":3") && client.reads { !client.positions.isEmpty }) }
    // All clients get the same positions from the latest client's first one on.
    let joined = clients.compactMap(\.positions.first).max() ?? ""
    #expect(clients[0].reads { clients[0].positions.count { $0 > joined } > 20 })
    let times = clients[0].positions.filter { $0 > joined }
    // A client has all positions once it has the last one.
    for client in clients {
      #expect(client.receives(times.last ?? "") && client.reads { Set(client.positions).isSuperset(of: times) })
    }
    #expect(hub.devicesNow["gps"].holders.count == 200)
    for client in clients { client.leave() }
    for descriptor in stalled { close(descriptor) }
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }

  @Test func `five hundred clients do not keep the hub from ending with its power off`() {
    let hub = HubProcess.simulated(gpsd: gpsd, nmea: nmea)
    let clients = (0..<500).map { index in WireClient(port: index % 2 == 0 ? gpsd : nmea) }
    // The NMEA port sends without a request, and closes the connection on input that is not a sentence.
    for index in stride(from: 0, to: clients.count, by: 2) { clients[index].send(PortTests.watch) }
    for client in clients { #expect(client.reads { client.lineCount > 4 }) }
    #expect(hub.stop() == 0)
    #expect(hub.program.standardError.contains("all power lines are off"))
    for client in clients { #expect(client.waitsForEnd()) }
  }
}

extension WireClient {
  /// The times of the positions that have arrived completely.
  fileprivate var positions: [String] {
    let whole = text.split(separator: "\r\n", omittingEmptySubsequences: false).dropLast()
    return whole.filter { $0.hasPrefix("{\"class\":\"TPV\"") }.compactMap { line in
      line.split(separator: "\"time\":\"").dropFirst().first.map { String($0.prefix(24)) }
    }
  }
}
