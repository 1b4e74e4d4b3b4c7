import Glibc
import TestSupport
import Testing

/// A one-minute log from 10:00 on 2026-11-28, which a hub replays and serves. It has five reports a second, with a
/// latitude that grows by 0.001 minutes each time.
final class ReplayedLog {
  let port = SocketClient.freePort()
  private let temporary = TemporaryFolder("replay")
  private var folder: String { temporary.path }

  var socket: String { folder + "/hub.sock" }

  /// Starts `sensorhub replay` and waits until it serves.
  func replay(_ arguments: [String]) -> Program {
    let log = folder + "/log.nmea"
    let lines = (0..<300).map { index -> String in
      let time = "1000\(padded(index / 5, 2)).\(index % 5 * 2)"
      return sentence("GPRMC,\(time),A,5231.\(padded(index, 3)),N,01323.000,E,10.0,90.0,281126,,,A")
    }
    HubProcess.write(lines.joined(separator: "\r\n") + "\r\n", to: log)
    let board = folder + "/board.json5"
    HubProcess.write(
      "{ name: \"log\", devices: { gps: { driver: \"nmea\", port: \"log\" } }, http: { port: \(port) } }", to: board)
    let program = Program(["replay", log, "--board", board, "--socket", socket] + arguments)
    #expect(program.logs("dashboard on"), "\(program.standardError)")
    return program
  }

  /// The hub's report about the replay, or its answer to a change.
  @discardableResult
  func status(_ method: String = "GET", _ query: String = "") -> String {
    HTTPAnswer(port, method, "/replay" + query).body
  }

  private func padded(_ number: Int, _ digits: Int) -> String {
    String(repeating: "0", count: digits - "\(number)".count) + "\(number)"
  }

  private func sentence(_ body: String) -> String {
    let sum = String(body.utf8.reduce(0, ^), radix: 16, uppercase: true)
    return "$\(body)*\(sum.count == 1 ? "0" : "")\(sum)"
  }
}
