import CLinux
import Devices
import Fusion
import Glibc
import Hub
import MonotonicTime
import NMEA
import Publishing
import Recording

/// The hub in Prometheus' text format: each device's activity and energy, the corrections, the known state of the
/// board, the clock and the pulse, the fences, the clients and the recorder. The report only observes: a scrape wakes
/// no device.
///
/// The metrics contain instants instead of ages, because an age is wrong by the time it is read. They omit outdated
/// values, because a constant line would look like a board that stands still.
enum MetricsReport {
  /// How long a measurement describes the present. The slowest receivers report every ten seconds.
  private static let validity = Duration.seconds(12)

  static func text(_ host: HubHost) -> String {
    let hub = host.hub
    let now = host.now
    let wall = MetricsReport.unixSeconds
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

    func timestamp(_ at: MonotonicInstant) -> String { Text.fixed(wall - (now - at).inSeconds, 3) }

    family(
      "build_info", "gauge", "The version of the program.",
      [("{version=\"\(PrometheusText.label(host.version))\"}", "1")])
    family(
      "board_info", "gauge", "The name of the board in use.",
      [("{board=\"\(PrometheusText.label(hub.board.name))\"}", "1")])
    let sleep = host.boardSleep.value
    family(
      "board_sleeps_total", "counter", "Number of times that the machine slept, over all runs of the hub.",
      sleep.map { [("", "\($0.sleepCount)")] } ?? [])
    family(
      "board_asleep_seconds_total", "counter", "Time for which the machine slept, over all runs of the hub.",
      sleep.map { [("", Text.fixed($0.asleepSeconds, 1))] } ?? [])
    family(
      "device_real", "gauge", "1 for a real device, 0 for a simulated or recorded one.",
      perDevice { $0.origin == .real ? "1" : "0" })
    family(
      "device_condition", "gauge", "1 for each present condition of a device; no sample if the device has none.",
      devices.flatMap { device in
        device.conditions.reduce(into: [String: String]()) { kinds, condition in
          kinds[condition.kind.rawValue] = kinds[condition.kind.rawValue] ?? condition.severity.rawValue
        }.sorted { $0.key < $1.key }.map { kind, severity in
          ("{device=\"\(device.id)\",kind=\"\(kind)\",severity=\"\(severity)\"}", "1")
        }
      })
    family(
      "device_condition_timestamp_seconds", "gauge", "Time at which the device's worst condition began.",
      perDevice { $0.conditions.first.map { timestamp($0.since) } })
    family(
      "device_power_state", "gauge", "1 for the present state of the device's power, 0 for all other states.",
      devices.flatMap { device in
        DeviceStatus.Power.allCases.map { power in
          ("{device=\"\(device.id)\",state=\"\(power.rawValue)\"}", device.power == power ? "1" : "0")
        }
      })
    family(
      "device_power_state_timestamp_seconds", "gauge", "Time at which the present state of the power began.",
      perDevice { timestamp($0.since) })
    family(
      "device_holders", "gauge", "Number of holders that keep the device awake.",
      perDevice { "\($0.holders.count)" })
    family(
      "device_on_seconds_total", "counter", "Time for which the device has been powered.",
      perDevice { Text.fixed($0.onTime.inSeconds, 3) })
    family("device_wakes_total", "counter", "Number of times that the device was woken.", perDevice { "\($0.wakes)" })
    family(
      "device_energy_joules_total", "counter",
      "Energy of the device, measured by a supply monitor or else computed from the current in the board file.",
      perDevice { Text.fixed($0.energyMilliwattHours * 3.6, 6) })
    family(
      "device_billed_energy_joules_total", "counter",
      "Energy of the device per client that caused it; a name in brackets stands for a policy of the hub.",
      devices.flatMap { device in
        device.energyByClient.map { clientEnergy in
          (
            "{device=\"\(device.id)\",payer=\"\(PrometheusText.label(clientEnergy.payer))\"}",
            Text.fixed(clientEnergy.milliwattHours * 3.6, 6)
          )
        }
      })
    family(
      "device_budget_joules_per_day", "gauge", "The device's daily energy budget in the board file.",
      perDevice { $0.budget.map { Text.fixed($0.milliwattHoursPerDay * 3.6, 6) } })
    family(
      "device_budget_left_joules", "gauge", "Remaining energy of the budget; negative if the device has used more.",
      perDevice { $0.budget.map { Text.fixed($0.leftMilliwattHours * 3.6, 6) } })
    family(
      "device_budget_steps", "gauge",
      "Number of steps of 'whenShort' that the hub has taken because the budget is short.",
      perDevice { $0.budget.map { "\($0.stepCount)" } })
    family(
      "device_linger_seconds", "gauge",
      "The present idle timeout: how long the device stays on after its last subscriber has left.",
      perDevice { $0.idleTimeout.map { Text.fixed($0.seconds, 3) } })
    family(
      "device_measured_energy_joules_total", "counter",
      "The part of the device's energy that a supply monitor has measured.",
      perDevice { Text.fixed($0.measuredMilliwattHours * 3.6, 6) })
    family(
      "device_power_watts", "gauge",
      "Present power of the device, measured by a supply monitor or else computed from the current in the board file.",
      perDevice { Text.fixed($0.milliwatts / 1000, 6) })
    family(
      "device_time_to_first_fix_seconds", "gauge", "Time from power to the first fix, in the last run with a fix.",
      perDevice { $0.timeToFirstFix.map { Text.fixed($0.inSeconds, 3) } })
    // Counters of different kinds have different names, because a sum over sentences and samples has no meaning.
    let kinds = devices.flatMap(\.counters).map(\.name).reduce(into: [String]()) { kinds, kind in
      if !kinds.contains(kind) { kinds.append(kind) }
    }
    for kind in kinds {
      family(
        "device_\(PrometheusText.name(kind))_total", "counter",
        "Counted while reading from the device: \(PrometheusText.help(kind)).",
        perDevice { device in device.counters.first { $0.name == kind }.map { "\($0.value)" } })
    }
    let corrected = devices.compactMap { device in device.corrections.map { (id: device.id, status: $0) } }
    func perCorrected(_ value: (CorrectionStatus) -> String?) -> [(labels: String, value: String)] {
      corrected.compactMap { device in value(device.status).map { ("{device=\"\(device.id)\"}", $0) } }
    }
    family(
      "correction_phase", "gauge",
      "1 for the present phase of the connection to the receiver's caster, 0 for all other phases.",
      corrected.flatMap { device in
        CorrectionStatus.Phase.allCases.map { phase in
          ("{device=\"\(device.id)\",phase=\"\(phase.rawValue)\"}", device.status.phase == phase ? "1" : "0")
        }
      })
    family(
      "correction_bytes_total", "counter", "Bytes received from the receiver's caster.", perCorrected { "\($0.bytes)" })
    family(
      "correction_messages_total", "counter", "Number of received correction messages, by RTCM 3 message number.",
      corrected.flatMap { device in
        device.status.messages.sorted(by: { $0.key < $1.key }).map { number, count in
          ("{device=\"\(device.id)\",message=\"\(number)\"}", "\(count)")
        }
      })
    family(
      "correction_lost_messages_total", "counter",
      "Number of correction messages that are lost because the receiver's line is too slow.",
      perCorrected { "\($0.lost)" })
    family(
      "correction_receiver_messages_total", "counter",
      "Number of correction messages that the receiver reports, by outcome; no sample if it reports none.",
      corrected.flatMap { device -> [(labels: String, value: String)] in
        let outcomes = device.status.outcomes
        if outcomes.isEmpty { return [] }
        let counts = [
          ("used", outcomes.used), ("unused", outcomes.unused), ("unknown", outcomes.unknown),
          ("damaged", outcomes.damaged),
        ]
        return counts.map { ("{device=\"\(device.id)\",outcome=\"\($0.0)\"}", "\($0.1)") }
      })
    family(
      "correction_connections_total", "counter", "Number of connections to the receiver's caster.",
      perCorrected { "\($0.connections)" })
    family(
      "correction_timestamp_seconds", "gauge", "Time at which the last correction message arrived.",
      perCorrected { $0.lastAt.map { timestamp($0) } })
    family(
      "state_timestamp_seconds", "gauge", "Time of the last fused state.",
      hub.lastState.value.map { [("", timestamp($0.at))] } ?? [])
    let state: FusedState? = hub.knownState(at: now)
    let parts = [
      ("position", state?.position?.at), ("motion", state?.motion?.at), ("attitude", state?.attitude?.at),
      ("magnetic_field", state?.magneticField?.at), ("air", state?.air?.at),
      ("supply", state?.supply?.at), ("fix", state?.fix?.at),
    ]
    family(
      "state_part_timestamp_seconds", "gauge", "Times at which the parts of the last fused state were measured.",
      parts.compactMap { part, at in at.map { ("{part=\"\(part)\"}", timestamp($0)) } })
    func known<Value>(_ part: Dated<Value>?) -> Value? {
      part.flatMap { now - $0.at <= MetricsReport.validity ? $0.value : nil }
    }
    func gauge(_ name: String, _ help: String, _ value: Double?, decimals: Int) {
      family(name, "gauge", help, value.map { [("", Text.fixed($0, decimals))] } ?? [])
    }
    func course(_ name: String, _ help: String, _ degrees: Double?) {
      gauge(name, help, degrees.map { Angle.bearing($0, decimals: 2) }, decimals: 2)
    }
    let position = known(state?.position)
    gauge("position_latitude_degrees", "Latitude, WGS 84, north positive.", position?.latitudeDegrees, decimals: 7)
    gauge("position_longitude_degrees", "Longitude, WGS 84, east positive.", position?.longitudeDegrees, decimals: 7)
    family(
      "position_altitude_meters", "gauge", "Height above mean sea level, and above the ellipsoid.",
      [("sea", position?.altitudeMSLMetres), ("ellipsoid", position?.altitudeHAEMetres)].compactMap { above, value in
        value.map { ("{above=\"\(above)\"}", Text.fixed($0, 2)) }
      })
    gauge(
      "position_sigma_meters", "The standard deviation of the position, along one axis.",
      position?.horizontalSigmaMetres, decimals: 3)
    let motion = known(state?.motion)
    gauge("speed_meters_per_second", "Speed over ground.", motion?.speedMetresPerSecond, decimals: 3)
    course("course_degrees", "Course over ground, clockwise from true north.", motion?.trackDegrees)
    let attitude = known(state?.attitude)
    course(
      "heading_degrees", "Heading of the board, clockwise from true north.",
      attitude.flatMap { $0.headingSigmaRadians == nil ? nil : $0.quaternion.yaw * 180 / .pi })
    let air = known(state?.air)
    gauge(
      "air_pressure_pascals", "Air pressure at the barometer.", air?.pressurePascals, decimals: 1)
    gauge("air_temperature_celsius", "Temperature of the barometer's chip.", air?.temperatureCelsius, decimals: 2)
    gauge("air_humidity_ratio", "Relative humidity, 0 to 1.", air?.humidityPercent.map { $0 / 100 }, decimals: 4)
    let supply = known(state?.supply)
    gauge("supply_volts", "Voltage that the supply monitor measures.", supply?.volts, decimals: 3)
    gauge(
      "supply_amperes", "Current through the supply monitor's shunt, positive to the load.", supply?.amperes,
      decimals: 5)
    let fix = known(state?.fix)
    gauge(
      "fix_mode", "The fix that the receiver reports: 1 none, 2 two dimensions, 3 three dimensions.",
      fix.flatMap { $0.mode > 0 ? Double($0.mode) : nil }, decimals: 0)
    gauge(
      "satellites_used", "Number of satellites that the fix uses.", fix?.satellitesUsed.map(Double.init), decimals: 0)
    gauge(
      "fix_time_sigma_seconds", "The standard deviation of the receiver's time, as the receiver reports it.",
      fix?.timeSigmaSeconds, decimals: 9)
    gauge(
      "fix_correction_age_seconds", "Age of the corrections that the fix uses, as the receiver reports it.",
      fix?.correctionAgeSeconds, decimals: 1)
    gauge(
      "fix_status", "Kind of the fix, with gpsd's numbers: 1 no corrections, 2 differential, 3 RTK, 4 RTK float.",
      fix.flatMap { $0.status > 0 ? Double($0.status) : nil }, decimals: 0)
    let receiver = state?.fix.map { state?.devices.text($0.source) ?? "" } ?? ""
    family(
      "receiver_jamming_state", "gauge",
      "1 for the state of jamming that the receiver reports, 0 for all other states.",
      fix.map { fix in
        Reception.Jamming.allCases.map { state in
          (
            "{device=\"\(PrometheusText.label(receiver))\",state=\"\(state.rawValue)\"}",
            fix.reception.jamming == state ? "1" : "0"
          )
        }
      } ?? [])
    family(
      "receiver_spoofing_state", "gauge",
      "1 for the state of spoofing that the receiver reports, 0 for all other states.",
      fix.map { fix in
        Reception.Spoofing.allCases.map { state in
          (
            "{device=\"\(PrometheusText.label(receiver))\",state=\"\(state.rawValue)\"}",
            fix.reception.spoofing == state ? "1" : "0"
          )
        }
      } ?? [])
    gauge(
      "refused_fix_distance_meters",
      "Distance between the fused position and fixes that the inertial sensors contradict; 0 if they agree.",
      fix.map { _ in state?.refusal?.metres ?? 0 }, decimals: 1)
    let offset = hub.lastClockOffset.value
    family(
      "clock_offset_timestamp_seconds", "gauge",
      "Time at which the system clock was last compared with the receiver's time.",
      offset.map { [("", Text.fixed(Double($0.systemNanosecondsSince1970) / 1e9, 3))] } ?? [])
    family(
      "clock_offset_seconds", "gauge", "The receiver's time minus the system clock's time.",
      offset.flatMap { offset in
        let age = wall - Double(offset.systemNanosecondsSince1970) / 1e9
        guard abs(age) <= MetricsReport.validity.inSeconds else { return nil }
        return [("{source=\"\(offset.source.rawValue)\"}", Text.fixed(offset.offsetSeconds, 9))]
      } ?? [])
    let pulse = hub.lastPulse.value.flatMap { now - $0.at <= MetricsReport.validity ? $0 : nil }
    family(
      "pulse_state", "gauge", "1 for the present state of the receiver's pulse, 0 for all other states.",
      pulse.map { pulse in
        PulseStatus.State.allCases.map { ("{state=\"\($0.rawValue)\"}", pulse.state == $0 ? "1" : "0") }
      } ?? [])
    gauge(
      "pulse_jitter_seconds", "Difference between the clock offsets of the last two pulses.",
      pulse?.jitterSeconds, decimals: 9)
    gauge(
      "pulse_quantization_error_seconds", "Error of the last pulse, as the receiver reports it.",
      pulse?.quantisationErrorSeconds, decimals: 12)

    let fences = host.fences.snapshots.map(\.status)
    func perFence(_ value: (FenceStatus) -> String?) -> [(labels: String, value: String)] {
      fences.compactMap { fence in value(fence).map { ("{fence=\"\(PrometheusText.label(fence.name))\"}", $0) } }
    }
    family(
      "fence_inside", "gauge", "1 if the board is inside the fence, 0 if it is outside.",
      perFence { $0.state == .unknown ? nil : $0.state == .inside ? "1" : "0" })
    family(
      "fence_beyond_meters", "gauge", "Distance of the last fix beyond the fence's edge; negative inside.",
      perFence { fence in fence.state == .unknown ? nil : fence.metresBeyond.map { Text.fixed($0, 1) } })
    family(
      "fence_fix_timestamp_seconds", "gauge",
      "Time of the last fix that showed on which side of the fence the board is.",
      perFence { $0.fix.map { timestamp($0.at) } })

    let traffic = host.traffic.kinds
    family(
      "output_clients", "gauge", "Number of connected clients, by output.",
      traffic.map { ("{output=\"\($0.name)\"}", "\($0.clients)") })
    family(
      "output_dropped_values_total", "counter", "Values that a client did not read in time.",
      traffic.map { ("{output=\"\($0.name)\"}", "\($0.droppedValues)") })
    family(
      "output_refused_clients_total", "counter",
      "Clients that were refused, because there were too many or because they may not connect.",
      traffic.map { ("{output=\"\($0.name)\"}", "\($0.refusedClients)") })
    if hub.board.record != nil {
      let recording = host.recording
      family("recorder_bytes_total", "counter", "Bytes written to recordings.", [("", "\(recording.byteCount)")])
      family(
        "recorder_lost_total", "counter", "Records that are missing because they could not be written to the disk.",
        [("", "\(recording.lostMessageCount)")])
      family("recorder_segments", "gauge", "Segments in the folder.", [("", "\(recording.segmentCount)")])
    }
    return text
  }

  private static var unixSeconds: Double {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
  }
}
