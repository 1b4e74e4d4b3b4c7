import ArgumentParser
import Fusion
import Hub
import Outputs
import Publishing

/// The value of `--state-rate`: a number of states per second such as `5`, or `all`.
enum StateRateOption: ExpressibleByArgument {
  case hertz(Double)
  case all

  init?(argument: String) {
    if argument == "all" {
      self = .all
    } else if let rate = Double(argument), (0.01...1000).contains(rate) {
      self = .hertz(rate)
    } else {
      return nil
    }
  }

  /// The states of a hub at this rate.
  ///
  /// - Parameter parts: the requested parts
  func states(of host: HubHost, parts: Set<StatePart>) -> Deferred<FusedState, Never> {
    switch self {
    case .hertz(let rate): host.hub.state(rateHz: rate, parts: parts)
    case .all: host.hub.state(parts: parts)
    }
  }
}
