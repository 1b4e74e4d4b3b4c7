import Glibc
import HardwareIO
import MonotonicTime
import Simulation
import TestSupport
import Testing
import VirtualBench

extension HardwareInTheLoop {
  /// The wakes that each key of a request causes, observed on the receiver's power line.
  @Suite(
    .serialized, .enabled(if: Bench.isVirtual, "only the virtual bench plays receivers"), .timeLimit(.minutes(600)))
  struct RequestKeyTests {
    /// A hub with a receiver, a web port and a broker.
    private final class Served {
      let bench: CommandedBench
      let hub: HubProcess
      private let broker: Program
      private let web, brokerPort: UInt16

      init(_ bench: CommandedBench) throws {
        self.bench = bench
        web = SocketClient.freePort()
        brokerPort = SocketClient.freePort()
        broker = Program(["-p", "\(brokerPort)"], path: "/usr/sbin/mosquitto")
        hub = bench.hub(
          "nmea", "lingerSeconds: 0",
          sections: "http: { port: \(web) }, mqtt: { broker: \"mqtt://127.0.0.1:\(brokerPort)\", hub: \"bench\" }")
        try #require(hub.logs("dashboard on") && hub.logs("joined mqtt:"), "\(hub.program.standardError)")
      }

      func end() {
        #expect(hub.stop() == 0)
        broker.send(SIGTERM)
        broker.wait()
      }

      /// The number of rises that an activity causes, until the line is low again.
      func rises(_ activity: () -> Void) -> Int {
        rest()
        let before = bench.line.rises.count
        activity()
        rest()
        return bench.line.rises.count - before
      }

      func rest() { #expect(eventually { hub.isOff && !bench.line.isHigh }) }

      func wait(_ seconds: Int) { bench.wait(until: MonotonicClock().now.advanced(by: .seconds(seconds))) }

      func ask(_ request: String) -> SocketClient {
        let client = SocketClient(path: hub.socket)
        client.send(request + "\n")
        return client
      }

      /// Waits for the values of a request, and leaves.
      func values(_ request: String, _ count: Int) -> Substring {
        let client = ask(request)
        #expect(client.receives(lineCount: count))
        client.leave()
        return client.text[...]
      }

      /// The answer of the web port.
      func get(_ path: String) -> String {
        let client = WireClient(port: web)
        client.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        #expect(client.waitsForEnd())
        return client.text
      }

      /// The answer to a viewer's request that arrives at the broker.
      func view(_ request: String) -> String {
        let topic = "sensorhub/bench"
        let listener = Program(
          ["-oL", "mosquitto_sub", "-V", "5", "-p", "\(brokerPort)", "-C", "1", "-d", "-t", "\(topic)/state/position"],
          path: "/usr/bin/stdbuf")
        #expect(listener.prints("SUBACK"), "\(listener.standardError)")
        let speaker = Program(
          ["-V", "5", "-p", "\(brokerPort)", "-q", "1", "-t", "\(topic)/interest/phone/position", "-m", request],
          path: "/usr/bin/mosquitto_pub")
        #expect(speaker.wait() == 0 && listener.wait() == 0)
        return listener.standardOutput
      }
    }

    @Test func `each key wakes the receiver only as often as the documents say`() throws {
      let served = try Served(CommandedBench(.ublox8, timeToFirstFixScale: 0.3))
      defer { served.end() }
      let unasked = served.rises {
        #expect(served.get("/state").contains("200 OK") && !served.hub.devices.devices.isEmpty)
        served.wait(60)
      }
      #expect(unasked == 0)
      Bench.saw("no request, but GET /state and `devices`: \(unasked) rises in a minute")

      let rate = served.rises {
        let client = served.ask(#"{"rateHz": 2}"#)
        served.wait(60)
        client.leave()
      }
      #expect(rate == 1)
      Bench.saw("rateHz: \(rate) rise for a minute of states")

      let alone = served.rises { _ = served.values(#"{"every": 20}"#, 7) }
      let together = served.rises {
        let other = served.ask(#"{"every": 60, "accuracy": 100}"#)
        _ = served.values(#"{"every": 20}"#, 7)
        #expect(other.receives(lineCount: 3))
        other.leave()
      }
      #expect((6...7).contains(alone) && (6...7).contains(together), "\(alone) \(together)")
      Bench.saw(
        "every 20 s: \(alone) rises for 7 fixes; with a second client, every 60 s: \(together) rises for 7 and 3")

      Self.maxAge(served)

      let far = served.rises {
        let client = served.ask(#"{"every": 20, "distance": 100000}"#)
        served.wait(110)
        #expect(client.lineCount == 1, "\(client.text)")
        client.leave()
      }
      #expect((5...7).contains(far), "\(far)")
      Bench.saw("distance: \(far) rises for fixes every 20 s in 110 s, 1 fix delivered")

      var arrivals = 0
      let batched = served.rises {
        let client = served.ask(#"{"every": 20, "batch": 60}"#)
        var count = 0
        for _ in 0..<190 {
          served.wait(1)
          if client.lineCount != count { arrivals += 1 }
          count = client.lineCount
        }
        #expect(count >= 6, "\(client.text)")
        client.leave()
      }
      #expect((9...11).contains(batched) && arrivals <= 4, "\(batched) \(arrivals)")
      Bench.saw("batch 60 s: \(batched) rises for fixes every 20 s in 190 s, delivered at \(arrivals) instants")

      // No receiver is that accurate, so each fix takes all the time that it may.
      let strict = served.rises {
        #expect(served.values(#"{"every": 30, "accuracy": 0.2, "within": 5}"#, 4).contains(#""met":false"#))
      }
      let line = served.bench.line
      let longest = zip(line.rises, line.falls).suffix(strict).map { $1 - $0 }.max() ?? .zero
      #expect((3...4).contains(strict) && longest <= .seconds(6), "\(strict) \(longest)")
      Bench.saw("within 5 s: \(strict) rises for 4 fixes, high for at most \(Bench.milliseconds(longest))")
    }

    private static func maxAge(_ served: Served) {
      let ways: [(String, (Int) -> String)] = [
        ("hub.sock", { String(served.values(#"{"maxAge": \#($0), "parts": ["position"]}"#, 1)) }),
        ("HTTP", { served.get("/state?maxAge=\($0)&parts=position") }),
        ("MQTT", { served.view(#"{"rateHz": 0, "maxAge": \#($0), "for": 60}"#) }),
      ]
      for (name, ask) in ways {
        served.wait(10)
        let fresh = served.rises { #expect(ask(600).contains(#""position""#)) }
        let stale = served.rises { #expect(ask(5).contains(#""position""#)) }
        #expect(fresh == 0 && stale == 1, "\(name): \(fresh) \(stale)")
        Bench.saw("maxAge by \(name), with a value 10 s old: \(fresh) rises for 600 s, \(stale) rise for 5 s")
      }
    }

    @Test func `a board that stands still needs no fix to stay within its error`() throws {
      var world = World(start: MonotonicClock().now)
      let (settling, hour) = (300.0, 3600.0)
      world.parked = [0..<settling + hour]
      let bench = try CommandedBench(.ublox8, world: world, hasIMU: true)
      let hub = bench.hub("nmea", "lingerSeconds: 0")
      let client = SocketClient(path: hub.socket)
      client.send("{\"error\": 25}\n")
      bench.wait(until: world.start + .seconds(settling))
      let before = bench.line.rises.count
      #expect(!bench.line.isHigh && before >= 1)
      bench.wait(until: world.start + .seconds(settling + hour - 1))
      let standing = bench.line.rises.count - before
      #expect(standing == 0)
      bench.wait(until: world.start + .seconds(settling + hour + 60))
      let driving = bench.line.rises.count - before - standing
      #expect(driving >= 1 && client.lineCount >= 2, "\(hub.program.standardError)")
      Bench.saw(
        "error 25 m: \(before) rises until it stood still, \(standing) in an hour, \(driving) in a minute of driving")
      client.leave()
      #expect(eventually { hub.isOff && !bench.line.isHigh })
      #expect(hub.stop() == 0)
    }
  }
}
