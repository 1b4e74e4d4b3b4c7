/// The work of a session at the end of a run.
enum RunEnding: Equatable, Sendable {
  /// Do nothing.
  case leave
  /// Save the receiver's satellite data, because its supply is switched off next.
  case saveKnowledge
  /// Restore the settings from before the run, if `restores`. Then put the receiver to sleep, unless it stays awake.
  case settle(restores: Bool)

  /// - Parameter rest: the sleep mode while the supply stays on; `nil` for none
  init(_ configuration: ReceiverConfiguration, rest: ReceiverSleep?) {
    // A receiver that loses its supply loses its settings anyway.
    let restores = configuration.settings.restores && (rest != nil || !configuration.isSwitched)
    if configuration.keepsKnowledge, rest == nil {
      self = .saveKnowledge
    } else if configuration.driver.takesCommands, restores || rest != nil {
      self = .settle(restores: restores)
    } else {
      self = .leave
    }
  }
}
