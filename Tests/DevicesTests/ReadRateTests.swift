import Guarding
import HardwareIO
import MonotonicTime
import TestSupport
import Testing

@testable import Devices

/// A receiver on the network that sends without end takes a bounded amount of time.
struct ReadRateTests {
  private func second(_ seconds: Double) -> MonotonicInstant { MonotonicInstant(nanoseconds: Int64(seconds * 1e9)) }

  @Test func `the bytes per second are limited to the rate of the fastest line`() {
    var rate = ReadRate()
    let half = ReadRate.mostBytesPerSecond / 2
    #expect(rate.pause(after: half, at: second(10)) == nil)
    #expect(rate.pause(after: half - 1, at: second(10.25)) == nil)
    // Each read counts with the minimum number of bytes.
    #expect(rate.pause(after: 0, at: second(10.5)) == .seconds(0.5))
    #expect(rate.pause(after: half, at: second(11)) == nil)
    #expect(rate.pause(after: half, at: second(11.75)) == .seconds(0.25))
    #expect(rate.pause(after: half, at: second(20)) == nil)
  }

  @Test(.timeLimit(.minutes(10))) func `data above the limit waits at the sender, and is read later`() throws {
    let sentence = nmeaLine("GPRMC,120010.00,A,5231.0010,N,01322.0000,E,1.0,45.0,211126,,,A")
    let count = 3 * ReadRate.mostBytesPerSecond / sentence.utf8.count + 1
    let flood = Array(String(repeating: sentence, count: count).utf8)
    let server = ScriptedServer { client in
      client.send(flood)
      client.leave()
    }
    let port = try NetworkPort(try #require(NetworkSource("tcp://127.0.0.1:\(server.port)")))
    let stop = StopSignal()
    let clock = MonotonicClock()
    let receiver = SerialReceiver(port: port, poller: Poller(stop: stop.fileDescriptor), clock: clock)
    let began = clock.now
    // The run ends with the connection.
    #expect(throws: HardwareError.self) { try receiver.run { _ in } }
    #expect(receiver.byteCount == flood.count && receiver.counters.sentences == count)
    #expect(clock.now - began >= .seconds(2))
  }

  @Test(.timeLimit(.minutes(10))) func `a gpsd's own reports count too, although they are left out`() throws {
    let report = "{\"class\":\"SKY\",\"satellites\":[]}\r\n"
    let count = 3 * ReadRate.mostBytesPerSecond / report.utf8.count + 1
    let flood = Array(String(repeating: report, count: count).utf8)
    let server = ScriptedServer { client in
      client.send("{\"class\":\"VERSION\"}\r\n")
      // If bytes of the client waited unread when the server closes, the kernel would discard the flood.
      _ = client.receives("?WATCH=")
      client.send(flood)
      client.leave()
    }
    let port = try NetworkPort(try #require(NetworkSource("gpsd://127.0.0.1:\(server.port)")))
    let stop = StopSignal()
    let clock = MonotonicClock()
    let receiver = SerialReceiver(port: port, poller: Poller(stop: stop.fileDescriptor), clock: clock)
    let began = clock.now
    #expect(throws: HardwareError.self) { try receiver.run { _ in } }
    #expect(receiver.byteCount == 0 && port.leftOutCount > flood.count)
    #expect(clock.now - began >= .seconds(2))
  }
}
