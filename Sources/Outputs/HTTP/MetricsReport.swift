import Fusion
import Glibc
import Hub
import MonotonicTime
import Publishing

/// The hub in Prometheus' text format: what each device does and has cost, how old the last state is, who is served.
/// Observes; a scrape wakes nothing.
enum MetricsReport {
  static func text(_ host: HubHost) -> String {
    let hub = host.hub.value
    let now = MonotonicClock().now
    let devices = hub.devices
    var text = ""

    func family(_ name: String, _ type: String, _ help: String, _ samples: [(labels: String, value: String)]) {
      guard !samples.isEmpty else { return }
      text += "# HELP sensorhub_\(name) \(help)\n# TYPE sensorhub_\(name) \(type)\n"
      for sample in samples { text += "sensorhub_\(name)\(sample.labels) \(sample.value)\n" }
    }
    func perDevice(_ value: (DeviceStatus) -> String?) -> [(labels: String, value: String)] {
      devices.compactMap { device in value(device).map { ("{device=\"\(device.id)\"}", $0) } }
    }

    family("info", "gauge", "The board that is in service.", [("{board=\"\(escaped(hub.board.name))\"}", "1")])
    family(
      "device_power_state", "gauge", "1 for the state that a device's power is in, 0 for the others.",
      devices.flatMap { device in
        DeviceStatus.Power.allCases.map { power in
          ("{device=\"\(device.id)\",state=\"\(power.rawValue)\"}", device.power == power ? "1" : "0")
        }
      })
    family(
      "device_power_state_age_seconds", "gauge", "For how long the power has been in its state.",
      perDevice { Text.fixed((now - $0.since).inSeconds, 3) })
    family(
      "device_holders", "gauge", "How many hold a lease and so keep the device awake.",
      perDevice { "\($0.holders.count)" })
    family(
      "device_on_seconds_total", "counter", "For how long the device has been powered.",
      perDevice { Text.fixed($0.onTime.inSeconds, 3) })
    family("device_wakes_total", "counter", "How often the device has been powered.", perDevice { "\($0.wakes)" })
    family(
      "device_energy_joules_total", "counter", "What that has cost, by the current that the board file states.",
      perDevice { Text.fixed($0.energyMilliwattHours * 3.6, 6) })
    family(
      "device_time_to_first_fix_seconds", "gauge", "From power to the first fix, in the last run that got so far.",
      perDevice { $0.timeToFirstFix.map { Text.fixed($0.inSeconds, 3) } })
    family(
      "device_input_total", "counter", "What has been read from the device, and what was wrong with it, by kind.",
      devices.flatMap { device in
        device.counters.map { ("{device=\"\(device.id)\",kind=\"\(escaped($0.name))\"}", "\($0.value)") }
      })

    let state = hub.lastState.value
    family(
      "state_age_seconds", "gauge", "How old the last fused state is.",
      state.map { [("", Text.fixed((now - $0.at).inSeconds, 3))] } ?? [])
    let parts = [
      ("position", state?.position?.at), ("motion", state?.motion?.at), ("attitude", state?.attitude?.at),
      ("fix", state?.fix?.at),
    ]
    family(
      "state_part_age_seconds", "gauge", "How old the parts of the last fused state are.",
      parts.compactMap { part, at in at.map { ("{part=\"\(part)\"}", Text.fixed((now - $0).inSeconds, 3)) } })
    family(
      "position_sigma_meters", "gauge", "The standard deviation of the last position, along one axis.",
      state?.position?.value.horizontalSigmaMetres.map { [("", Text.fixed($0, 3))] } ?? [])
    family(
      "satellites_used", "gauge", "How many satellites the last fix was made of.",
      state?.fix?.value.satellitesUsed.map { [("", "\($0)")] } ?? [])

    family(
      "clock_offset_seconds", "gauge", "By how much the system clock is behind the receiver's time.",
      hub.lastClockOffset.value.map { [("{source=\"\($0.source.rawValue)\"}", Text.fixed($0.offsetSeconds, 9))] } ?? [])

    let traffic = host.traffic.kinds
    family(
      "output_clients", "gauge", "How many clients are connected, by output.",
      traffic.map { ("{output=\"\($0.name)\"}", "\($0.clients)") })
    family(
      "output_dropped_values_total", "counter", "Values that a client did not read in time.",
      traffic.map { ("{output=\"\($0.name)\"}", "\($0.droppedValues)") })
    return text
  }

  /// A label's value may be anything, with three characters written otherwise.
  private static func escaped(_ text: String) -> String {
    text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
  }
}
