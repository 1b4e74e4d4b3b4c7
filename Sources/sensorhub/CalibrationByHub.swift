import FoundationEssentials
import HardwareIO
import Hub
import MonotonicTime
import Outputs

/// A calibration by a running hub, which uses the sensor and can store the result.
struct CalibrationByHub {
  private struct Answer: Decodable {
    var reason: String?
    var message: String?
    var nextStep: String?
    var progress: Double?
    var instruction: String?
    var quality: Double?
    var file: String?
  }

  let kind: CalibrationKind
  let device: String?

  /// Requests the calibration, and prints its progress until it ends. Throws if it fails or is cancelled.
  ///
  /// - Parameters:
  ///   - limit: the maximum duration
  ///   - signals: a descriptor that is readable when the user ends the calibration
  func run(on connection: consuming HubConnection, within limit: Duration, signals: Int32) throws -> StoredCalibration {
    let named = device.map { name in
      // The JSON encoder quotes the name, so that it cannot add keys to the request.
      (try? JSONEncoder().encode(name)).map { ", \"device\": \(String(decoding: $0, as: UTF8.self))" } ?? ""
    }
    connection.send("{\"calibrate\": \"\(kind.rawValue)\", \"name\": \"calibrate\"\(named ?? "")}")
    let clock = MonotonicClock()
    let end = clock.now + limit
    let poller = Poller(stop: signals)
    var last = Answer()
    while true {
      switch connection.nextLine(by: clock.now + .milliseconds(20)) {
      case .text(let line):
        guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(line)) else { continue }
        if let stored = try take(answer) { return stored }
        if answer.progress != nil { last = answer }
        continue
      case .closed: throw CommandError.hubClosed
      case .late: break
      }
      switch poller.wait(for: connection.descriptor, atMost: max(end - clock.now, .zero)) {
      case .readable: break
      case .stopped: throw CommandError(.unavailable, "cancelled; nothing was changed")
      case .timedOut:
        throw CommandError(
          .data, "no result: \(Text.fixed(100 * (last.progress ?? 0), 0)) % of what \(kind.rawValue) needs",
          nextStep: last.instruction)
      }
    }
  }

  /// Handles an answer of the hub.
  ///
  /// - Returns: the stored result, at the end; `nil` before
  private func take(_ answer: Answer) throws -> StoredCalibration? {
    if let message = answer.message {
      // A hub of an older release does not know the request, so this adds the next step that its answer lacks.
      throw CalibrationRefusal(
        message, reason: answer.reason.flatMap(CalibrationRefusal.Reason.init) ?? .input,
        nextStep: answer.nextStep ?? "restart the hub: its version is older than this program's")
    }
    if let file = answer.file, let quality = answer.quality { return StoredCalibration(file: file, quality: quality) }
    if let progress = answer.progress, let instruction = answer.instruction {
      Terminal.standardError(
        progress > 0 ? "\(Text.fixed(100 * progress, 0)) %: \(instruction)" : "0 %: \(instruction); Ctrl-C cancels")
    }
    return nil
  }
}
