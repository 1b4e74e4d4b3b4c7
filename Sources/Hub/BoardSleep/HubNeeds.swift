import Guarding
import MonotonicTime
import Publishing

extension Hub {
  /// The reasons why the board must stay awake at present, and the next fix. Reading this wakes nothing.
  public var boardSituation: BoardSleepPolicy.Situation {
    let outlook = fixPlanner.outlook(by: self)
    let battery = board.battery?.monitor
    let restsForBattery = !self.battery.isDeciding
    var needs = (monitors + leavingMonitors).compactMap { monitor in
      let status = monitor.changes.value
      let isHeld = monitor.isHeld { $0.id != BatteryMonitor.holder.id }
      // The regular measurements of the battery would otherwise begin the idle time again and again.
      if status.id == battery, restsForBattery { return Hub.need(of: status, isHeld: isHeld, isAlone: true) }
      // They count only while their monitor works: a missing one would keep the board on for ever.
      return Hub.need(of: status, isHeld: isHeld || monitor.isWanted(), isAlone: false)
    }
    if let client = outlook.reliesOnMotion {
      needs.append("\(client) relies on the motion sensor, which is not read while the board sleeps")
    }
    if outlook.isUnderWay, needs.isEmpty { needs.append("a fix waits for its time") }
    return BoardSleepPolicy.Situation(needs: needs, next: outlook.next)
  }

  /// Why the machine must stay awake for a device; `nil` if it need not.
  ///
  /// - Parameter isAlone: whether only clients count. Otherwise a device that works without a client counts too
  private static func need(of status: DeviceStatus, isHeld: Bool, isAlone: Bool) -> String? {
    if isHeld {
      return "\(status.holders.first ?? "a client") holds \(status.id)"
    }
    if isAlone { return nil }
    return status.power.isWorking ? "\(status.id) is \(status.power.rawValue)" : nil
  }

  /// Calls back after each change that may change `boardSituation`, until the subscription is cancelled.
  public func observeBoardSituation(_ changed: @escaping @Sendable () -> Void) -> Subscription {
    let devices = Guarded(Lifetime())
    let registries = registry.subscribe(
      as: "board sleep",
      receiveValue: { [machine] registry in
        let lifetime = Lifetime()
        // A device of the previous board may keep the board awake until it has stopped.
        for monitor in machine.leaving.devices.map(\.monitor) + registry.monitors {
          monitor.changes.subscribe(as: "board sleep", receiveValue: { _ in changed() }).store(in: lifetime)
        }
        devices.withLock { old in
          defer { old = lifetime }
          return old
        }.end()
      })
    fixPlanner.callAfterChanges(Callback(changed))
    return Subscription { [fixPlanner] in
      fixPlanner.callAfterChanges(nil)
      registries.cancel()
      devices.withLock { $0 }.end()
    }
  }

  /// The power lines that are high, in words; empty if all are low.
  ///
  /// - Parameter ignoringResting: whether to leave out lines that are high only because devices rest with their supply
  ///   on: a receiver that sleeps, or an inertial sensor that waits for motion
  public func linesThatAreOn(ignoringResting: Bool) -> [String] {
    machine.switchedRails.compactMap { rail in
      let supply = rail.supply.value
      guard supply.isOn else { return nil }
      if let problem = supply.problem { return "\(rail.name) is on: it could not be switched off: \(problem)" }
      let watching = monitors.map(\.id).filter { supply.users.contains(StillnessMonitor.railUser(of: $0)) }
      let isForResting = supply.users.count == watching.count && !(supply.sleepers + watching).isEmpty
      if ignoringResting, isForResting { return nil }
      let devices = (supply.users + supply.sleepers).joined(separator: ", ")
      var text = "\(rail.name) is on" + (devices.isEmpty ? "" : ", for \(devices)")
      guard isForResting else { return text }
      let steps =
        watching.map { "set 'wakeOnMotion' of \($0) to false" }
        + supply.sleepers.map { "set 'power.sleep' of \($0) to 'off'" }
      text += ": " + steps.joined(separator: ", ")
      return text
    }
  }

  /// Whether a receiver or a time server has confirmed the time.
  public var isTimeConfirmed: Bool { machine.hostTime.known != nil }

  /// Keeps a receiver awake so that it confirms the time, until the subscription is cancelled. A receiver that is
  /// switched off after one epoch never confirms the time, because three epochs must agree.
  ///
  /// - Parameter received: called after each epoch
  /// - Returns: `nil` on a board without a receiver
  public func awaitTime(_ received: @escaping @Sendable () -> Void) -> Subscription? {
    let registry = registry.value
    let reader = receiver ?? registry.board.devices.lazy.compactMap { registry.receiverReader($0.id) }.first
    return reader?.device.readings.subscribe(
      as: Holder("board sleep", purpose: .schedule), receiveValue: { _ in received() })
  }

  /// Makes fixes due at multiples of their interval in UTC, so that the schedule continues over the time for which the
  /// machine is off.
  ///
  /// - Parameter secondsUntilDue: the time until the due time of the fix for which the machine was woken; `nil` if it
  ///   was woken for another reason
  public func takeUpSchedule(secondsUntilDue: Double?) {
    let now = machine.clock.now
    let offset = Duration.nanoseconds(machine.systemTime() - now.nanoseconds)
    fixPlanner.takeUp(
      offset: offset, due: secondsUntilDue.map { now + .nanoseconds(Int64($0 * 1e9)) })
  }

  /// Records that the machine was off until it booted, and thus all devices with a switch. Otherwise nothing would be
  /// learned from the starts of a machine that is switched off after each fix.
  ///
  /// - Parameter seconds: the time since the machine was switched off
  public func wasSwitchedOff(secondsAgo seconds: Double) {
    let instant = machine.clock.now + .nanoseconds(-Int64(seconds * 1e9))
    for monitor in monitors { monitor.wasOff(since: instant) }
  }
}
