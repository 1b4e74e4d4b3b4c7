import Devices
import Glibc
import Hub
import MonotonicTime
import Publishing

/// The status of all devices as one JSON object.
public enum DevicesReport {
  /// Writes the devices of the board in service, and the problem of the board file, if any.
  static func write(_ host: HubHost, to json: inout JSONWriter) {
    write(
      host.hub.devices, and: host.conditions.ofBoard, host.boardSleep.value, at: host.now, to: &json)
  }

  public static func write(
    _ devices: [DeviceStatus], and conditions: [DeviceCondition] = [], _ sleep: BoardSleepReport? = nil,
    at now: MonotonicInstant, to json: inout JSONWriter
  ) {
    json.beginObject()
    json.member("class", literal: "DEVICES")
    ConditionReport.write(conditions, at: now, to: &json)
    sleep?.write(at: now, to: &json)
    json.key("devices")
    json.beginArray()
    for device in devices {
      json.beginObject()
      json.member("id", device.id)
      json.key("kind")
      json.string(device.kind.rawValue)
      json.member("title", device.title)
      json.key("power")
      json.string(device.power.rawValue)
      json.member("forSeconds", (now - device.since).inSeconds, decimals: 1)
      json.member("reason", Text.printable(device.reason))
      json.member("lingersForSeconds", device.lingersUntil.map { ($0 - now).inSeconds }, decimals: 1)
      json.member("remark", device.warning)
      ConditionReport.write(device.conditions, at: now, to: &json)
      if device.origin != .real {
        json.key("origin")
        json.string(device.origin.rawValue)
      }
      json.key("holders")
      json.beginArray()
      for holder in device.holders { json.string(holder) }
      json.endArray()
      json.key("holderIds")
      json.beginArray()
      for id in device.holderIDs { json.string(id.description) }
      json.endArray()
      json.member("onSeconds", device.onTime.inSeconds, decimals: 1)
      json.member("wakes", device.wakes)
      json.member("energyMilliwattHours", device.energyMilliwattHours, decimals: 4)
      json.member("measuredMilliwattHours", device.measuredMilliwattHours, decimals: 4)
      json.key("bills")
      json.beginObject()
      for (span, energyByClient) in [
        ("run", device.energyByClient), ("day", device.energyByClientOfDay), ("week", device.energyByClientOfWeek),
      ] as [(StaticString, [EnergyByClient.ClientEnergy])] {
        json.key(span)
        json.beginArray()
        for clientEnergy in energyByClient {
          json.beginObject()
          json.member("payer", clientEnergy.payer)
          json.member("milliwattHours", clientEnergy.milliwattHours, decimals: 4)
          json.endObject()
        }
        json.endArray()
      }
      json.endObject()
      if let budget = device.budget { DevicesReport.write(budget, to: &json) }
      if let idleTimeout = device.idleTimeout { DevicesReport.write(idleTimeout, to: &json) }
      if !device.schedules.isEmpty { DevicesReport.write(device.schedules, at: now, to: &json) }
      json.member("milliwatts", device.milliwatts, decimals: 2)
      json.member("timeToFirstFixSeconds", device.timeToFirstFix?.inSeconds, decimals: 3)
      if !device.calibrations.isEmpty {
        json.key("calibrations")
        json.beginObject()
        for kind in CalibrationKind.allCases {
          guard let entry = device.calibrations[kind] else { continue }
          json.key(dynamic: kind.rawValue)
          json.beginObject()
          json.member("ageSeconds", max(0, time(nil) - Int(entry.at)))
          json.member("quality", entry.quality, decimals: 6)
          json.endObject()
        }
        json.endObject()
      }
      if let corrections = device.corrections { DevicesReport.write(corrections, at: now, to: &json) }
      json.key("counters")
      json.beginObject()
      for counter in device.counters {
        json.key(dynamic: counter.name)
        json.integer(counter.value)
      }
      json.endObject()
      json.endObject()
    }
    json.endArray()
    json.endObject()
    json.endLine()
  }

  private static func write(_ schedules: [ScheduleReport], at now: MonotonicInstant, to json: inout JSONWriter) {
    json.key("schedules")
    json.beginArray()
    for one in schedules {
      json.beginObject()
      json.member("holder", one.holder)
      json.member("everySeconds", one.schedule.every.inSeconds, decimals: 3)
      json.member("accuracyMetres", one.schedule.accuracyMetres, decimals: 2)
      json.member("withinSeconds", one.schedule.within.inSeconds, decimals: 3)
      if let degraded = one.degraded {
        json.key("relaxed")
        json.beginObject()
        json.member("everySeconds", degraded.every.inSeconds, decimals: 3)
        json.member("accuracyMetres", degraded.accuracyMetres, decimals: 2)
        json.endObject()
      }
      json.member("dueInSeconds", (one.due - now).inSeconds, decimals: 1)
      json.member("wakesInSeconds", one.wake.map { ($0 - now).inSeconds }, decimals: 1)
      json.member("reason", one.reason)
      json.endObject()
    }
    json.endArray()
  }

  private static func write(_ budget: BudgetReport, to json: inout JSONWriter) {
    json.key("budget")
    json.beginObject()
    json.member("milliwattHoursPerDay", budget.milliwattHoursPerDay, decimals: 4)
    json.member("leftMilliwattHours", budget.leftMilliwattHours, decimals: 4)
    json.member("steps", budget.steps)
    json.member("stepsTaken", budget.stepCount)
    json.member("everySeconds", budget.degradation.every?.inSeconds, decimals: 3)
    json.member("accuracyMetres", budget.degradation.accuracyMetres, decimals: 2)
    json.endObject()
  }

  private static func write(_ corrections: CorrectionStatus, at now: MonotonicInstant, to json: inout JSONWriter) {
    json.key("corrections")
    json.beginObject()
    json.member("source", corrections.source)
    json.key("phase")
    json.string(corrections.phase.rawValue)
    json.member("reason", corrections.reason)
    json.member("ageSeconds", corrections.lastAt.map { (now - $0).inSeconds }, decimals: 1)
    json.member("bytes", corrections.bytes)
    json.key("messages")
    json.beginObject()
    for (number, count) in corrections.messages.sorted(by: { $0.key < $1.key }) {
      json.key(dynamic: "\(number)")
      json.integer(count)
    }
    json.endObject()
    json.member("lost", corrections.lost)
    json.member("baseDistanceMetres", corrections.baseDistanceMetres, decimals: 0)
    if !corrections.outcomes.isEmpty {
      json.key("receiver")
      json.beginObject()
      json.member("used", corrections.outcomes.used)
      json.member("unused", corrections.outcomes.unused)
      json.member("unknown", corrections.outcomes.unknown)
      json.member("damaged", corrections.outcomes.damaged)
      json.endObject()
    }
    json.member("connections", corrections.connections)
    json.endObject()
  }

  private static func write(_ idleTimeout: IdleTimeoutReport, to json: inout JSONWriter) {
    json.key("linger")
    json.beginObject()
    json.member("isLearned", idleTimeout.isLearned)
    json.member("seconds", idleTimeout.seconds, decimals: 3)
    json.member("breakEvenSeconds", idleTimeout.decision.breakEvenSeconds, decimals: 3)
    json.member("gaps", idleTimeout.learned.gapCount)
    json.key("restarts")
    json.beginObject()
    for kind in RestartCosts.Kind.allCases {
      guard let restart = idleTimeout.learned.restarts[kind] else { continue }
      json.key(dynamic: kind.rawValue)
      json.beginObject()
      json.member("seconds", restart.seconds, decimals: 3)
      json.member("joules", restart.joules, decimals: 4)
      json.member("count", restart.count)
      json.endObject()
    }
    json.endObject()
    json.key("explanation")
    json.beginArray()
    for line in idleTimeout.explanation { json.string(line) }
    json.endArray()
    json.endObject()
  }
}
