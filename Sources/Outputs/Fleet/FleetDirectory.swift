import Guarding
import Hub
import MonotonicTime

/// The hubs with retained messages at a broker. Reading the directory wakes no hub.
///
/// Each change has a number. A client that asks again names the last number that it knows, and gets only later changes.
/// A thousand unchanged hubs are therefore not sent twice.
final class FleetDirectory: Sendable {
  /// Within this time after the broker is reached again, every running hub publishes its retained messages, even if the
  /// broker lost them in a restart. A hub that has sent nothing by then is removed.
  static let patience = Duration.seconds(120)

  private struct State {
    var listing: FleetListing
    /// The number of the latest change of each hub.
    var numbers: [String: Int] = [:]
    var number = 0
    /// When the broker was reached; `nil` while it cannot be reached.
    var reachedAt: MonotonicInstant?
    /// The hubs that have sent no message since the broker was reached.
    var unheard: Set<String> = []
    /// Why the broker is not connected; `nil` if it is.
    var problem: String? = "not reached yet"

    mutating func isNews(of hub: String) {
      number += 1
      numbers[hub] = number
    }

    /// Removes the hubs that have sent nothing within `patience` after the broker was reached: their retained messages
    /// were removed during the interruption.
    mutating func forgetUnheard(at now: MonotonicInstant) {
      guard let reachedAt, now - reachedAt >= FleetDirectory.patience else { return }
      for hub in unheard {
        listing.forget(hub)
        isNews(of: hub)
      }
      unheard = []
    }
  }

  /// Identifies this run of the program. The numbers of another run have no meaning here.
  private let run = String(UInt32.random(in: .min ... .max), radix: 36)
  private let broker: BrokerAddress
  private let connection: MQTTConnection
  private let sink: JournalSink
  private let clock: any MonotonicTimeSource
  private let state: Guarded<State>

  /// - Parameters:
  ///   - options: how to connect to the broker; the subscriptions are replaced
  ///   - hub: the name of the only hub to list; `nil` for all
  init(
    _ options: MQTTOptions, topic: String, hub: String?, sink: JournalSink,
    clock: any MonotonicTimeSource = MonotonicClock()
  ) {
    let listing = FleetListing(topic: topic)
    var options = options
    options.subscriptions = listing.subscriptions(hub: hub)
    broker = options.broker
    connection = MQTTConnection(options)
    self.sink = sink
    self.clock = clock
    state = Guarded(State(listing: listing))
  }

  func begin() throws(MQTTError) {
    try connection.start { [self] in take($0) }
  }

  func take(_ event: MQTTConnection.Event) {
    switch event {
    case .connected:
      state.withLock { state in
        state.reachedAt = clock.now
        state.unheard = Set(state.listing.hubs.filter { !$0.value.isGone }.keys)
      }
      isReached(nil)
    case .disconnected(let loss):
      state.withLock { $0.reachedAt = nil }
      isReached("\(loss)")
    case .refused(let reason): isReached("the broker does not let you subscribe: \(reason)")
    case .received(let topic, let payload, _, _):
      state.withLock { state in
        if let hub = state.listing.parts(of: topic)?.hub { state.unheard.remove(hub) }
        if let hub = state.listing.take(topic, payload) { state.isNews(of: hub) }
      }
    case .notTaken, .answered, .leftOut, .ended: break
    }
  }

  func end() { connection.end() }

  private func isReached(_ problem: String?) {
    let isNew = state.withLock { state in
      defer { state.problem = problem }
      return state.problem != problem
    }
    guard isNew else { return }
    if let problem {
      sink.write(.warning, "the broker \(broker) cannot be reached, trying again: \(problem)")
    } else {
      sink.write(.notice, "connected to the broker \(broker)")
    }
  }

  func knows(_ hub: String) -> Bool { state.withLock { $0.listing.hubs[hub]?.isGone == false } }

  /// Writes the changes of the hubs as one JSON object. The member `whole` is true if the object contains all hubs.
  ///
  /// - Parameter news: the member `news` of an earlier answer
  func write(since news: String?, to json: inout JSONWriter) {
    let state = state.withLock { state in
      state.forgetUnheard(at: clock.now)
      return state
    }
    let known = number(news).flatMap { (0...state.number).contains($0) ? $0 : nil }
    json.beginObject()
    json.member("class", literal: "FLEET")
    json.member("news", "\(run)-\(state.number)")
    json.member("whole", known == nil)
    json.member("obstacle", state.problem.map(Text.printable))
    json.key("hubs")
    json.beginArray()
    for (name, number) in state.numbers where number > known ?? 0 { state.listing.hubs[name]?.write(name, to: &json) }
    json.endArray()
    json.endObject()
    json.endLine()
  }

  private func number(_ news: String?) -> Int? {
    guard let parts = news?.split(separator: "-"), parts.count == 2, parts[0] == run else { return nil }
    return Int(parts[1])
  }
}
