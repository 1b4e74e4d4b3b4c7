import Fusion
import Hub
import Publishing

extension HubHost {
  /// Delivers the requested values until the subscription ends. The value of a request with `maxAge` may arrive before
  /// this method returns.
  ///
  /// - Parameters:
  ///   - receiveState: called with states
  ///   - receiveFix: called with the fixes of a request for fixes
  func subscribe(
    to request: ViewRequest, as holder: Holder, receiveState: @escaping @Sendable (FusedState) -> Void,
    receiveFix: @escaping @Sendable (RequestedFix) -> Void
  ) -> Subscription {
    let clock = hub.machine.clock
    switch request.form {
    case .states(let rateHz, let parts):
      let states = hub.state(rateHz: rateHz, parts: parts)
      return request.filtered(states, clock: clock).subscribe(as: holder, receiveValue: receiveState)
    case .current(let value):
      return hub.current(value).subscribe(as: holder, receiveValue: receiveState)
    case .fixes(let schedule):
      return request.filtered(hub.fixes(on: schedule), clock: clock).subscribe(as: holder, receiveValue: receiveFix)
    case .bounded(let metres, let within):
      let fixes = hub.fixes(errorMetres: metres, within: within)
      return request.filtered(fixes, clock: clock).subscribe(as: holder, receiveValue: receiveFix)
    }
  }
}
