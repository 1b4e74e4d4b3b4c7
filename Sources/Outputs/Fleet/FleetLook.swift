import MonotonicTime
import Publishing

/// A viewer's interest in one hub at a broker, and the hub's messages for it. The broker removes the interest when its
/// connection is gone, in order or not: so each has its own connection.
final class FleetLook: Sendable {
  enum News: Sendable {
    /// As the hub says it, in one line of JSON, and when it came.
    case state([UInt8], MonotonicInstant)
    /// Why there are none.
    case obstacle(String)
  }

  /// The parts that a map needs: no hub wakes more for it.
  private static let interest = #"{"rateHz":1,"parts":["position","motion"],"name":"fleet"}"#
  /// How long the broker keeps the interest without another word.
  private static let expiry = Duration.seconds(120)

  private let topics: HubTopics
  private let topic: String
  private let connection: MQTTConnection

  /// - Parameters:
  ///   - options: the will, the subscriptions and the identifier are replaced
  ///   - viewer: its name at the hub; another one for each
  init(_ options: MQTTOptions, _ topics: HubTopics, viewer: String) {
    var options = options
    topic = topics.interest(of: viewer)
    options.identifier = "sensorhub-" + viewer.replacing("/", with: "-")
    options.subscriptions = [topics.states]
    options.will = MQTTOptions.Will(topic: topic, text: "")
    self.topics = topics
    connection = MQTTConnection(options)
  }

  /// Looks until the returned lease is cancelled. Called once.
  func begin(_ receive: @escaping @Sendable (News) -> Void) -> Subscription {
    do throws(MQTTError) {
      try connection.start { [topics] event in
        switch event {
        case .received(topics.states, let payload, _, _):
          // Others may publish there, and others' fixes are theirs.
          guard FleetHub.Report.last.isSound(payload), ScheduledFixReport.outcome(payload) == nil else { return }
          receive(.state(payload.filter { $0 >= 0x20 }, MonotonicClock().now))
        case .disconnected(let reason): receive(.obstacle("the broker is not reached: \(reason)"))
        case .refused(let reason): receive(.obstacle("the broker does not let you listen: \(reason)"))
        case .notTaken(let refusal): receive(.obstacle("the broker does not take \(refusal)"))
        case .connected, .received, .answered, .leftOut, .ended: break
        }
      }
    } catch {
      receive(.obstacle(error.description))
    }
    say()
    let renewals = MonotonicClock().ticks(every: FleetLook.expiry / 2).subscribe(
      as: "fleet", receiveValue: { [self] _ in say() })
    return Subscription { [connection] in
      renewals.cancel()
      connection.end()
    }
  }

  private func say() {
    connection.retain(
      topic, Array(FleetLook.interest.utf8), expirySeconds: UInt32(FleetLook.expiry.components.seconds))
  }
}
