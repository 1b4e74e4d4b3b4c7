import HardwareIO
import MonotonicTime
import NMEA

/// Finds a receiver on its line, and wakes it if it sleeps.
struct ReceiverFinder {
  let configuration: ReceiverConfiguration
  let memory: ReceiverMemory
  let receiver: SerialReceiver
  /// Gets the epochs that arrive in the meantime.
  let receive: (borrowing GNSSObservation) -> Void

  /// Finds the receiver at the start of a run.
  ///
  /// - Parameter asleep: the receiver's present sleep mode; `nil` if it is not known to sleep
  /// - Returns: the speed of the line; `nil` when told to stop
  func find(asleep: ReceiverSleep?) throws(HardwareError) -> BaudRate? {
    try carryOut(ReceiverSearchPlan(configuration, memory.present, asleep: asleep))
  }

  /// Finds the receiver after a restart.
  ///
  /// - Parameter speed: the speed before the restart
  /// - Returns: the speed of the line; `nil` when told to stop
  func find(restartedAt speed: BaudRate) throws(HardwareError) -> BaudRate? {
    try carryOut(ReceiverSearchPlan(configuration, memory.present, restartedAt: speed))
  }

  private func carryOut(_ plan: ReceiverSearchPlan) throws(HardwareError) -> BaudRate? {
    for attempt in plan.attempts {
      for speed in attempt.speeds {
        let time = attempt.isQuestion ? SerialReceiver.shortestListeningTime : receiver.listeningTime
        let heard = try receiver.listen(at: speed, for: time, saying: attempt.wakingBytes, receive)
        switch heard {
        case .heard: return speed
        case .stopped: return nil
        case .nothing: break
        }
      }
    }
    switch plan.fallback {
    case .usualSpeeds: return try receiver.findSpeed(nil, receive: receive)
    case .wakesBySupplyAlone(let asleep):
      throw .unexpectedDevice(
        "the receiver on \(receiver.port.name) sleeps ('\(asleep.rawValue)') until its supply is switched off and on, "
          + "but other devices keep the supply on: give the receiver its own switch, or choose another 'sleep'")
    case .staysAsleep(let asleep):
      memory.present.asleep = nil
      throw .unexpectedDevice(
        "the receiver on \(receiver.port.name) does not wake ('\(asleep.rawValue)'); the hub switches its "
          + "supply off and on")
    }
  }

  /// Finds the speed of a receiver that was not heard before the reader was told to stop. A receiver that was told to
  /// wake may still begin to send.
  ///
  /// - Returns: a channel at that speed; for a sleeping receiver that was not heard, a channel at the likeliest speed;
  ///   otherwise `nil`
  func hear(until deadline: MonotonicInstant) throws(HardwareError) -> CommandChannel? {
    receiver.poller = receiver.poller.unstoppable
    let known = memory.present
    let likely = ReceiverSearchPlan.likelySpeeds(configuration, known, asleep: known.asleep)
    for speed in likely.isEmpty ? Array(SerialReceiver.usualSpeeds.prefix(2)) : likely {
      guard case let left = deadline - receiver.clock.now, left > .zero else { break }
      if try receiver.listen(at: speed, for: min(receiver.listeningTime, left), receive) == .heard {
        return channel(at: speed)
      }
    }
    guard known.asleep != nil, let speed = likely.first else { return nil }
    let channel = self.channel(at: speed)
    try channel.go(to: speed)
    return channel
  }

  func channel(at speed: BaudRate) -> CommandChannel { CommandChannel(receiver, speed: speed, receive: receive) }
}
