import Hub

/// The retained description of a hub for Home Assistant: a device with a tracker, the measurements, the fences, the
/// state of the hub's devices, and a switch that keeps the receiver awake.
///
/// It follows the device discovery of Home Assistant's MQTT integration, as of 2026. Each component has its own state
/// topic: with a topic for the whole device, the tracker would use that topic too, and take the messages on it for
/// names of places. `default_entity_id` was formerly `object_id`.
struct HomeAssistantDiscovery {
  /// Home Assistant shows a measurement as unavailable if no value has arrived for this time. It is three times the
  /// interval at which values come while other clients keep the devices awake.
  private static let expirySeconds = 180
  /// The name under which the switch makes requests. Its request has a duration, so it ends if Home Assistant is
  /// gone.
  private static let viewer = "homeassistant"
  private static let lookSeconds = 3600

  /// The JSON for the discovery topic, and the components that it describes.
  struct Message {
    var json: [UInt8]
    /// The platforms of the components, by component key.
    var components: [String: String]
  }

  private let hub: Hub
  private let name: String
  private let topics: HubTopics
  private let version: String

  init(_ hub: Hub, _ name: String, _ topics: HubTopics, version: String) {
    self.hub = hub
    self.name = name
    self.topics = topics
    self.version = version
  }

  /// A hub's discovery topic. It contains the hub's name in a form that Home Assistant accepts and that a broker's
  /// access list can match. If the form differs from the name, a checksum is appended, so that `boat.8` differs from
  /// `boat_8`.
  static func topic(of hub: String) -> String {
    let taken = topicOfOldVersions(hub: hub)
    guard hub.contains(where: { $0 == "." || $0 == "@" }) else { return taken }
    return taken.dropLast("/config".count) + "-\(checksum(of: hub))/config"
  }

  /// The topic that old versions of the hub used. They did not store it in their `FleetMemory`.
  static func topicOfOldVersions(hub: String) -> String {
    let name = String(hub.map { $0 == "." || $0 == "@" ? "_" : $0 })
    return "homeassistant/device/sensorhub-\(name)/config"
  }

  /// A checksum that distinguishes similar names (FNV-1a, 32 bits).
  private static func checksum(of name: String) -> String {
    var hash: UInt32 = 2_166_136_261
    for byte in name.utf8 { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
    return String(hash, radix: 16)
  }

  /// A unique identifier for a hub or a component. Hyphens become underscores, as in other integrations; underscores
  /// become hyphens, so that `home-1` differs from `home_1`.
  static func identifier(_ text: String) -> String {
    String(text.map { $0 == "-" ? "_" : $0 == "_" ? "-" : $0 })
  }

  /// The form of a name in an entity's ID, which users see. Home Assistant appends a number to equal names.
  private static func slug(_ text: String) -> String {
    String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" }).lowercased()
  }

  /// Whether an old version, which stored no topic in its `FleetMemory`, used other names.
  var differsFromOldVersions: Bool {
    ([name] + hub.board.fences.map(\.name) + hub.devices.map(\.id)).contains {
      HomeAssistantDiscovery.identifier($0) != HomeAssistantDiscovery.slug($0)
    }
  }

  /// The message for the discovery topic.
  ///
  /// - Parameter removed: former components of the hub, with their platforms. Home Assistant keeps a component that is
  ///   missing from the message, and removes a component for which the message contains only the platform
  func message(removing removed: [String: String] = [:]) -> Message {
    var components: [String: String] = [:]
    let json = write(removing: removed, &components)
    return Message(json: json, components: components)
  }

  private func write(removing removed: [String: String], _ components: inout [String: String]) -> [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    json.key("device")
    json.beginObject()
    json.key("identifiers")
    json.beginArray()
    json.string("sensorhub_\(HomeAssistantDiscovery.identifier(name))")
    json.endArray()
    json.member("name", name)
    json.member("manufacturer", literal: "SensorHub")
    json.member("model", Text.printable(hub.board.name))
    json.member("sw_version", version)
    json.endObject()
    json.key("origin")
    json.beginObject()
    json.member("name", literal: "sensorhub")
    json.member("sw", version)
    json.endObject()
    json.member("availability_topic", topics.status)
    json.key("components")
    json.beginObject()
    let kinds = Set(hub.devices.map(\.kind))
    if kinds.contains(.receiver) {
      writeTracker(to: &json, &components)
      writeSwitch(to: &json, &components)
      sensor(
        "last_fix", "Last fix", topics.last,
        // A state of sleeping devices has no receiver time. If it has no position either, the sensor keeps its value.
        "{% if value_json.position is defined %}{{ (as_datetime(value_json.time | default(value_json.said)) - "
          + "timedelta(seconds=value_json.position.age)).isoformat() }}"
          + "{% else %}{{ this.state if as_datetime(this.state, none) else none }}{% endif %}",
        deviceClass: "timestamp", isMeasured: false, to: &json, &components)
      sensor(
        "speed", "Speed", topics.last, "{{ value_json.velocity.speed }}", if: "value_json.velocity",
        deviceClass: "speed",
        unit: "m/s", to: &json, &components)
      sensor(
        "satellites", "Satellites", topics.last, "{{ value_json.fix.satellites }}",
        if: "(value_json.fix | default({})).satellites", isDiagnostic: true, to: &json, &components)
    }
    if kinds.contains(.imu) {
      sensor(
        "heading", "Heading", topics.last, "{{ value_json.attitude.yaw }}",
        if: "(value_json.attitude | default({})).yaw", unit: "°", to: &json, &components)
    }
    if kinds.contains(.barometer) {
      sensor(
        "pressure", "Pressure", topics.last, "{{ value_json.air.pressure / 100 }}", if: "value_json.air",
        deviceClass: "atmospheric_pressure", unit: "hPa", to: &json, &components)
      sensor(
        "temperature", "Temperature", topics.last, "{{ value_json.air.temperature }}", if: "value_json.air",
        deviceClass: "temperature", unit: "°C", to: &json, &components)
    }
    if kinds.contains(.supplyMonitor) {
      sensor(
        "voltage", "Voltage", topics.last, "{{ value_json.supply.volts }}", if: "value_json.supply",
        deviceClass: "voltage", unit: "V", to: &json, &components)
    }
    for fence in hub.board.fences {
      sensor(
        "fence_\(HomeAssistantDiscovery.identifier(fence.name))", "\(fence.name) fence", topics.fences,
        "{{ value_json.fences['\(fence.name)'].state }}",
        isMeasured: false, to: &json, &components)
    }
    for device in hub.devices {
      let identifier = HomeAssistantDiscovery.identifier(device.id)
      writeProblem(device.id, identifier, to: &json, &components)
      let one = "(value_json.devices | selectattr('id', 'eq', '\(device.id)') | first)"
      sensor(
        "power_\(identifier)", "\(device.id) power", topics.devices, "{{ \(one).power }}", isMeasured: false,
        isDiagnostic: true, to: &json, &components)
      sensor(
        "energy_\(identifier)", "\(device.id) energy", topics.devices, "{{ \(one).energyMilliwattHours / 1000 }}",
        deviceClass: "energy", unit: "Wh", isMeasured: false, isDiagnostic: true, to: &json, &components)
    }
    for (key, platform) in removed.sorted(by: { $0.key < $1.key }) where components[key] == nil {
      json.key(dynamic: key)
      json.beginObject()
      json.member("platform", platform)
      json.endObject()
    }
    json.endObject()
    json.endObject()
    return Array(json.bytes)
  }

  private func begin(
    _ key: String, _ platform: StaticString, _ title: String?, to json: inout JSONWriter,
    _ components: inout [String: String]
  ) {
    components[key] = "\(platform)"
    json.key(dynamic: key)
    json.beginObject()
    json.member("platform", literal: platform)
    json.member("name", title)
    json.member("unique_id", "sensorhub_\(HomeAssistantDiscovery.identifier(name))_\(key)")
    let slugs = [name, key].map(HomeAssistantDiscovery.slug)
    json.member("default_entity_id", "\(platform).\(slugs[0])_\(slugs[1])")
  }

  private func writeTracker(to json: inout JSONWriter, _ components: inout [String: String]) {
    begin("position", "device_tracker", "Position", to: &json, &components)
    json.member("source_type", literal: "gps")
    json.member("json_attributes_topic", topics.last)
    // Home Assistant's accuracy is the radius of a circle that contains 95 % of the positions.
    json.member(
      "json_attributes_template",
      "{% if value_json.position is defined %}{{ {'latitude': value_json.position.lat, "
        + "'longitude': value_json.position.lon, "
        + "'gps_accuracy': (value_json.position.sigmaHorizontal | default(20)) * 2.45} | tojson }}{% else %}{}{% endif %}"
    )
    json.endObject()
  }

  private func writeSwitch(to json: inout JSONWriter, _ components: inout [String: String]) {
    let key = ViewerRequest.Key(viewer: HomeAssistantDiscovery.viewer, stream: .part(.position))
    begin("live", "switch", "Live position", to: &json, &components)
    json.member("command_topic", topics.interest(key))
    json.member("payload_on", #"{"rateHz":1,"for":\#(HomeAssistantDiscovery.lookSeconds)}"#)
    json.member("payload_off", #"{"rateHz":0}"#)
    json.member("retain", true)
    json.member("qos", 1)
    // The state is the list of viewers that the hub reports, because the hub may have lost the request.
    json.member("state_topic", topics.health)
    json.member("value_template", "{{ 'ON' if '\(HomeAssistantDiscovery.viewer)' in value_json.viewers else 'OFF' }}")
    json.member("state_on", literal: "ON")
    json.member("state_off", literal: "OFF")
    json.endObject()
  }

  /// Writes an entity that says whether a device has a problem, with the reason and the next step as attributes.
  private func writeProblem(
    _ id: String, _ identifier: String, to json: inout JSONWriter, _ components: inout [String: String]
  ) {
    let one = "(value_json.devices | selectattr('id', 'eq', '\(id)') | first)"
    let all = "(\(one).conditions | default([]))"
    begin("problem_\(identifier)", "binary_sensor", "\(id) problem", to: &json, &components)
    json.member("device_class", literal: "problem")
    json.member("state_topic", topics.devices)
    json.member(
      "value_template",
      "{{ 'ON' if \(all) | rejectattr('severity', 'eq', 'waiting') | list | count > 0 else 'OFF' }}")
    json.member("json_attributes_topic", topics.devices)
    json.member(
      "json_attributes_template",
      "{% set c = \(all) | first | default({}) %}{{ {'summary': c.summary | default(''), "
        + "'next_step': c.nextStep | default(''), 'kind': c.kind | default('')} | tojson }}")
    json.member("entity_category", literal: "diagnostic")
    json.endObject()
  }

  /// - Parameters:
  ///   - condition: the member that the message must contain for a value
  ///   - isMeasured: whether the value expires
  private func sensor(
    _ key: String, _ title: String, _ topic: String, _ template: String, if condition: String? = nil,
    deviceClass: String? = nil, unit: String? = nil, isMeasured: Bool = true, isDiagnostic: Bool = false,
    to json: inout JSONWriter, _ components: inout [String: String]
  ) {
    begin(key, "sensor", title, to: &json, &components)
    json.member("state_topic", topic)
    // Each message restarts the expiry, so the template itself must make a value unknown if it is no longer measured.
    // The last message before all devices sleep leaves the value unchanged until it expires.
    json.member(
      "value_template",
      condition.map {
        "{% if \($0) is defined %}\(template){% elif value_json.mode != 'asleep' %}{{ none }}{% endif %}"
      } ?? template)
    json.member("device_class", deviceClass)
    json.member("unit_of_measurement", unit)
    if isMeasured {
      json.member("state_class", literal: "measurement")
      json.member("expire_after", HomeAssistantDiscovery.expirySeconds)
    } else if deviceClass == "energy" {
      json.member("state_class", literal: "total_increasing")
    }
    if isDiagnostic { json.member("entity_category", literal: "diagnostic") }
    json.endObject()
  }
}
