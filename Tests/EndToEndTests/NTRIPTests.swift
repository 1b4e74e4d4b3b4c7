import Glibc
import Simulation
import TestSupport
import Testing

/// Corrections on their whole path: from a caster through the hub to a receiver on a serial line, and the receiver's
/// answer on the way back.
@Suite(.serialized, .timeLimit(.minutes(10))) struct NTRIPTests {
  private let gpsd = SocketClient.freePort()
  private let rover: CorrectedReceiver

  init() throws { rover = try CorrectedReceiver() }

  private func hub(_ ntrip: String) -> HubProcess {
    rover.hub(ntrip, outputs: "gpsd: { port: \(gpsd) },", environment: ["CREDENTIALS_DIRECTORY=/tmp"])
  }

  /// Sends two messages repeatedly while the client accepts them, cut in the middle of one.
  private static func serve(_ visit: ScriptedCaster.Visit) {
    let epoch = MadeMessage.correction(1005) + MadeMessage.correction(1077, byteCount: 300)
    visit.send("HTTP/1.1 200 OK\r\nContent-Type: gnss/data\r\nTransfer-Encoding: chunked\r\n\r\n")
    var looks = 0
    hold {
      looks += 1
      guard looks % 20 == 1 else { return !visit.isOpen }
      for piece in [epoch[..<50], epoch[50...]] {
        visit.send(Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + Array("\r\n".utf8))
      }
      return !visit.isOpen
    }
  }

  @Test func `a caster's corrections reach the receiver, and every output shows their effect`() {
    let caster = ScriptedCaster { NTRIPTests.serve($0) }
    let password = "/tmp/sensorhub-ntrip-\(getpid())"
    HubProcess.write("secret\n", to: password)
    defer { unlink(password) }
    let source = "ntrip://me@127.0.0.1:\(caster.port)/BASE"
    let hub = hub("caster: \"\(source)\", passwordFile: \"\(password)\"")
    // The receiver has no subscribers, so no corrections are requested.
    #expect(eventually { rover.body("/devices").contains("\"phase\":\"off\"") })
    #expect(caster.visits.values.isEmpty)

    let client = SocketClient(port: gpsd)
    client.send("?WATCH={\"enable\":true,\"json\":true};\n")
    let stream = rover.subscriber()
    // A fix with carrier phase follows the first corrections.
    #expect(stream.receives("\"status\":3,") && stream.receives("\"correctionAge\":"), "\(hub.program.standardError)")
    let request = caster.visits.values.first?.request ?? ""
    #expect(request.hasPrefix("GET /BASE HTTP/1.1\r\n"), "\(request)")
    // The header contains "me:secret" encoded as in RFC 7617.
    #expect(request.contains("Authorization: Basic bWU6c2VjcmV0\r\n"), "\(request)")

    #expect(client.receives("\"class\":\"TPV\"") && client.receives("\"status\":3,"))
    // The receiver itself reports that it uses corrections. All conditions are checked at once, because corrections
    // that come late on a busy machine are missing for a moment.
    let expected =
      [
        "sensorhub_correction_receiver_messages_total{device=\"gps\",outcome=\"used\"} ", "sensorhub_fix_status 3\n",
        "sensorhub_correction_phase{device=\"gps\",phase=\"receiving\"} 1\n",
      ] + [1005, 1077].map { "sensorhub_correction_messages_total{device=\"gps\",message=\"\($0)\"} " }
    var (metrics, state) = ("", "")
    let areTold = eventually {
      (metrics, state) = (rover.body("/metrics"), rover.body("/state"))
      return expected.allSatisfy(metrics.contains) && state.contains("\"status\":3,")
        && state.contains("\"correctionAge\":")
    }
    #expect(areTold, "\(metrics) \(state)")
    #expect(rover.receiver.commands.contains(.correction(1005)) && rover.receiver.commands.contains(.correction(1077)))
    let parts = ["  base     receiving from ntrip://", " messages (1005, 1077), ", "; the receiver reports: "]
    var listing = ""
    let areListed = eventually {
      let devices = Program(["devices", "--verbose", "--socket", hub.socket])
      devices.wait()
      listing = devices.standardOutput
      return parts.allSatisfy(listing.contains)
    }
    #expect(areListed, "\(listing)")
    // The user's password is private.
    for text in [metrics, listing, hub.program.standardError, rover.body("/devices")] {
      #expect(!text.contains("secret") && !text.contains("bWU6"))
    }

    stream.leave()
    client.leave()
    #expect(caster.visits.values.allSatisfy { $0.waitsForEnd() })
    #expect(eventually { rover.body("/devices").contains("\"phase\":\"off\"") }, "\(rover.body("/devices"))")
    #expect(caster.visits.values.count == 1)
    #expect(hub.stop() == 0)
    rover.receiver.hangUp()
  }

  @Test func `a caster that disappears is reported on the devices, and the receiver keeps working`() {
    let caster = ScriptedCaster { NTRIPTests.serve($0) }
    let hub = hub("caster: \"ntrip://127.0.0.1:\(caster.port)/BASE\"")
    let stream = rover.subscriber()
    #expect(stream.receives("\"status\":3,"))
    caster.end()
    let reason = "no corrections from ntrip://127.0.0.1:\(caster.port)/BASE: "
    var devices = ""
    let isReported = eventually {
      devices = rover.body("/devices")
      return devices.contains("\"phase\":\"waiting\"") && devices.contains(reason)
    }
    #expect(isReported, "\(devices)")
    stream.forget()
    #expect(stream.receives("\"mode\":3,"))
    stream.leave()
    #expect(hub.stop() == 0)
    rover.receiver.hangUp()
  }
}
