import Hub

/// What Home Assistant is told of a hub, once and retained: a device with a tracker, what it measures, how its devices are, and a
/// switch that has the receiver awake.
///
/// By the device discovery of Home Assistant's MQTT integration, as of 2026: state topics stand with each component, as the
/// tracker would inherit one that stands above it and take its text for a place; `default_entity_id` is what was `object_id`.
struct HomeAssistantDiscovery {
  /// After so long without news a measurement is unavailable there: three times what passes between two while others look.
  private static let expirySeconds = 180
  /// Who looks when the switch is on, and for how long: it goes off by itself, should Home Assistant be gone.
  private static let viewer = "homeassistant"
  private static let lookSeconds = 3600

  private let hub: Hub
  private let name: String
  private let topics: HubTopics
  private let version: String

  /// The hub's name stays what it is there as far as Home Assistant takes it, so that a broker's list of who may do what can
  /// name it.
  static func topic(of hub: String) -> String {
    let name = String(hub.map { $0 == "." || $0 == "@" ? "_" : $0 })
    return "homeassistant/device/sensorhub-\(name)/config"
  }

  init(_ hub: Hub, _ name: String, _ topics: HubTopics, version: String) {
    self.hub = hub
    self.name = name
    self.topics = topics
    self.version = version
  }

  /// As identifiers there are written.
  private static func identifier(_ text: String) -> String {
    String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" }).lowercased()
  }

  var json: [UInt8] {
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
      writeTracker(to: &json)
      writeSwitch(to: &json)
      sensor(
        "last_fix", "Last fix", topics.last,
        // Once it sleeps its states have no time of the receiver's; where they have no position it keeps the one it had.
        "{% if value_json.position is defined %}{{ (as_datetime(value_json.time | default(value_json.said)) - "
          + "timedelta(seconds=value_json.position.age)).isoformat() }}"
          + "{% else %}{{ this.state if as_datetime(this.state, none) else none }}{% endif %}",
        deviceClass: "timestamp", isMeasured: false, to: &json)
      sensor(
        "speed", "Speed", topics.last, "{{ value_json.velocity.speed }}", if: "value_json.velocity",
        deviceClass: "speed",
        unit: "m/s", to: &json)
    }
    if kinds.contains(.barometer) {
      sensor(
        "pressure", "Pressure", topics.last, "{{ value_json.air.pressure / 100 }}", if: "value_json.air",
        deviceClass: "atmospheric_pressure", unit: "hPa", to: &json)
    }
    if kinds.contains(.supplyMonitor) {
      sensor(
        "voltage", "Voltage", topics.last, "{{ value_json.supply.volts }}", if: "value_json.supply",
        deviceClass: "voltage", unit: "V", to: &json)
    }
    for fence in hub.board.fences {
      sensor(
        "fence_\(fence.name)", "\(fence.name) fence", topics.fences, "{{ value_json.fences['\(fence.name)'].state }}",
        isMeasured: false, to: &json)
    }
    for device in hub.devices {
      let one = "(value_json.devices | selectattr('id', 'eq', '\(device.id)') | first)"
      sensor(
        "power_\(device.id)", "\(device.id) power", topics.devices, "{{ \(one).power }}", isMeasured: false,
        isDiagnostic: true, to: &json)
      sensor(
        "energy_\(device.id)", "\(device.id) energy", topics.devices, "{{ \(one).energyMilliwattHours / 1000 }}",
        deviceClass: "energy", unit: "Wh", isMeasured: false, isDiagnostic: true, to: &json)
    }
    json.endObject()
    json.endObject()
    return Array(json.bytes)
  }

  private func begin(_ key: String, _ platform: StaticString, _ title: String?, to json: inout JSONWriter) {
    let key = HomeAssistantDiscovery.identifier(key)
    let hub = HomeAssistantDiscovery.identifier(name)
    json.key(dynamic: key)
    json.beginObject()
    json.member("platform", literal: platform)
    json.member("name", title)
    json.member("unique_id", "sensorhub_\(hub)_\(key)")
    json.member("default_entity_id", "\(platform).\(hub)_\(key)")
  }

  private func writeTracker(to json: inout JSONWriter) {
    begin("position", "device_tracker", "Position", to: &json)
    json.member("source_type", literal: "gps")
    json.member("json_attributes_topic", topics.last)
    // Its accuracy is a radius: that of a circle with 95 of 100 positions in it.
    json.member(
      "json_attributes_template",
      "{% if value_json.position is defined %}{{ {'latitude': value_json.position.lat, "
        + "'longitude': value_json.position.lon, "
        + "'gps_accuracy': (value_json.position.sigmaHorizontal | default(20)) * 2.45} | tojson }}{% else %}{}{% endif %}"
    )
    json.endObject()
  }

  private func writeSwitch(to json: inout JSONWriter) {
    let key = Interest.Key(viewer: HomeAssistantDiscovery.viewer, stream: .part(.position))
    begin("live", "switch", "Live position", to: &json)
    json.member("command_topic", topics.interest(key))
    json.member("payload_on", #"{"rateHz":1,"for":\#(HomeAssistantDiscovery.lookSeconds)}"#)
    json.member("payload_off", #"{"rateHz":0}"#)
    json.member("retain", true)
    json.member("qos", 1)
    // What the hub says, which may have forgotten it.
    json.member("state_topic", topics.health)
    json.member("value_template", "{{ 'ON' if '\(HomeAssistantDiscovery.viewer)' in value_json.viewers else 'OFF' }}")
    json.member("state_on", literal: "ON")
    json.member("state_off", literal: "OFF")
    json.endObject()
  }

  /// - Parameters:
  ///   - condition: what has to be there for the template to say anything
  ///   - isMeasured: grows old
  private func sensor(
    _ key: String, _ title: String, _ topic: String, _ template: String, if condition: String? = nil,
    deviceClass: String? = nil, unit: String? = nil, isMeasured: Bool = true, isDiagnostic: Bool = false,
    to json: inout JSONWriter
  ) {
    begin(key, "sensor", title, to: &json)
    json.member("state_topic", topic)
    // Whatever comes has it grow old anew. So what is no more measured while others have the hub say something is unknown; the
    // last word before all sleep leaves it as it was, until it is too old.
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
