import Hub
@testable import Outputs

/// Both ends of the state socket: a client's requests to the hub, and a foreign hub's answers to `watch`. The byte 0xFF
/// ends a packet.
enum StateTarget {
  static func run(_ input: UnsafeBufferPointer<UInt8>) {
    var requests = StateRequests()
    for packet in input.split(separator: 0xff) { requireSound(requests.take(UnsafeBufferPointer(rebasing: packet))) }
    // After any bytes, a request on a line of its own is answered.
    let clean = Array("\n{\"rateHz\":5}\n".utf8).withUnsafeBufferPointer { requests.take($0) }
    require(clean.last?.request?.view.rateHz == 5, "a clean request is lost")

    guard let state = StateReport.read(Array(input)) else { return }
    var json = JSONWriter(capacity: 1024)
    StateReport.write(state, to: &json)
    requireJSONLines(json.bytes)
  }

  private static func requireSound(_ requests: [StateRequests.Line]) {
    for request in requests.compactMap(\.request) {
      if let rate = request.view.rateHz { require((0.01...1000).contains(rate), "a rate of \(rate)") }
      if case .fixes(let schedule) = request.view.form {
        require(schedule.every >= .seconds(1), "a fix every \(schedule.every)")
      }
    }
  }
}
