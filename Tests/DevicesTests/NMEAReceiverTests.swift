import Devices
import Guarding
import HardwareIO
import MonotonicTime
import NMEA
import TestSupport
import Testing

struct NMEAReceiverTests {
  /// A receiver read over a pseudo-terminal, on a thread of its own.
  private final class Line: Sendable {
    let observations = Recorder<GNSSObservation>()
    private let stop = StopSignal()

    init(_ terminal: PseudoTerminal) throws {
      let port = try LinuxSerialPort(terminal.path, speed: .b9600)
      let (stop, observations) = (stop, observations)
      let error = DetachedThread.start("receiver") {
        defer { port.close() }
        let receiver = NMEAReceiver(port: port, poller: Poller(stop: stop.fileDescriptor))
        func receive(_ observation: borrowing GNSSObservation) { observations.append(copy observation) }
        guard (try? receiver.findSpeed(.b9600, receive: receive)) != nil else { return }
        try? receiver.run(receive: receive)
      }
      #expect(error == 0)
    }

    deinit { stop.set() }
  }

  @Test(.timeLimit(.minutes(10)), arguments: ["RMC", "GLL"])
  func `a receiver with one sentence an epoch gives an observation for each, at ever later instants`(
    _ sentence: String
  ) async throws {
    let terminal = PseudoTerminal()
    let line = try Line(terminal)
    let sentences = (10..<60).map { second in
      checked(
        sentence == "RMC"
          ? "GPRMC,1200\(second).00,A,5231.00\(second),N,01322.0000,E,1.0,45.0,211126,,,A"
          : "GPGLL,5231.00\(second),N,01322.0000,E,1200\(second).00,A,A")
    }
    terminal.write(sentences.joined())
    let observations = await line.observations.first(50)
    let expected = (10..<60).map { second -> Double in
      let minutes = 31 + Double(second) / 10000
      return 52 + minutes / 60
    }
    #expect(observations.map { $0.fix.position?.latitudeDegrees ?? 0 } == expected)
    #expect(zip(observations, observations.dropFirst()).allSatisfy { $0.at < $1.at })
  }

  private func checked(_ body: String) -> String {
    let sum = String(body.utf8.reduce(0) { $0 ^ $1 }, radix: 16, uppercase: true)
    return "$\(body)*\(sum.count < 2 ? "0" : "")\(sum)\r\n"
  }
}
