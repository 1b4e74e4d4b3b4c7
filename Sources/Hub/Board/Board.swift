import Devices
import HardwareIO
import Publishing

/// The contents of a board file: the devices and their connections, and what the hub does with them, such as outputs,
/// recording, fences and hooks.
public struct Board: Equatable, Sendable {
  public var name: String
  /// The devices in the order of preference. IDs are unique.
  public var devices: [DeviceDescription]
  /// The IDs of the fused devices, in the order of `devices`.
  public var fusedDevices: [String]
  /// The rate of the fused state, in hertz, for clients that request no rate.
  public var stateRateHz: Double
  /// Whether the board is fixed to a vehicle on wheels that moves nose first.
  public var isVehicle: Bool
  /// Whether to write the fused state to the journal once a second. This is a subscription, so it keeps the devices
  /// awake.
  public var journalsState: Bool
  /// The addresses and the port of the gpsd protocol; `nil` if the hub does not serve it.
  public var gpsdEndpoint: TCPEndpoint?
  /// The parts of the state whose devices wake while a gpsd client watches the fused position.
  public var gpsdParts: Set<StatePart>
  /// The outputs of NMEA sentences.
  public var nmea: [NMEAPort]
  public var http: HTTPPort?
  /// The port for Signal K's delta messages.
  public var signalK: SignalKPort?
  /// The Signal K servers that the hub sends deltas to.
  public var signalKServers: [SignalKServer] = []
  /// The port at which clients exchange bytes with a receiver; `nil` if the hub does not serve it.
  public var bridge: BridgePort?
  /// The destination of GDL 90 datagrams.
  public var gdl90: UDPTarget?
  /// The CAN interface for NMEA 2000.
  public var nmea2000: NMEA2000Port?
  /// The connection to an autopilot.
  public var mavlink: MAVLinkPort?
  /// Whether ports that other machines may connect to are announced to the network.
  public var isAnnounced = true
  /// The path of the socket from which chronyd takes the time (its `refclock SOCK`); `nil` for none. This is a
  /// subscription, so it keeps the receiver awake.
  public var chronySocket: String?
  /// The settings of the recording; `nil` for no recording.
  public var record: RecordSettings?
  /// The settings of the broker that the hub connects to; `nil` for no broker.
  public var fleet: FleetSettings?
  /// The watched areas. Each is a subscription that wakes receivers for a fix at intervals.
  public var fences: [FenceSettings]
  /// The actions that events trigger.
  public var hooks: [HookSettings]
  /// Fixes that the hub takes without a client. Each is a subscription.
  public var requests: [StandingRequest]
  /// The limits of the board's battery; `nil` if the hub does not watch it.
  public var battery: BatterySettings?
  /// When the machine sleeps between two fixes; `nil` if it does not.
  public var sleep: BoardSleepSettings?

  /// The source of an output's sentences, their types, their rate, and the parts of the state that they need.
  public struct NMEAFeed: Equatable, Sendable {
    public enum Source: String, CaseIterable, Sendable {
      /// The receiver's own sentences.
      case receiver
      /// Sentences that the hub makes from the fused state.
      case fused
    }

    public var source: Source
    /// The rate of fused sentences, in hertz; `nil` to send one set of sentences with each of the receiver's epochs.
    public var rateHz: Double?
    public var sentences: SentenceChoice
    /// The parts of the state whose devices wake for fused sentences.
    public var parts: Set<StatePart>

    public init(
      source: Source, rateHz: Double? = nil, sentences: SentenceChoice = .all, parts: Set<StatePart> = .all
    ) {
      self.source = source
      self.rateHz = rateHz
      self.sentences = sentences
      self.parts = parts
    }
  }

  /// An output of NMEA sentences.
  public struct NMEAPort: Equatable, Sendable {
    public enum Destination: Equatable, Sendable {
      /// The sentences go to each connected client.
      case clients(TCPEndpoint)
      case datagrams(UDPTarget)
    }

    public var place: Destination
    public var feed: NMEAFeed

    /// The address where clients connect.
    public var endpoint: TCPEndpoint? { if case .clients(let endpoint) = place { endpoint } else { nil } }
    /// The destination of datagrams.
    public var target: UDPTarget? { if case .datagrams(let target) = place { target } else { nil } }
  }

  /// The port for Signal K's delta messages.
  public struct SignalKPort: Equatable, Sendable {
    public var endpoint: TCPEndpoint
    /// The vessel's Maritime Mobile Service Identity, nine digits; `nil` if it has none.
    public var mmsi: String?

    public init(endpoint: TCPEndpoint, mmsi: String? = nil) {
      self.endpoint = endpoint
      self.mmsi = mmsi
    }
  }

  /// A CAN interface for NMEA 2000.
  public struct NMEA2000Port: Equatable, Sendable {
    /// The name of the interface, such as `can0`.
    public var interface: String
    /// The address on the bus that the hub claims first, 0 to 251.
    public var address: UInt8
    /// Whether the output is a subscription, which keeps the devices awake. Otherwise it sends only while other clients
    /// keep the devices awake.
    public var keepsAwake: Bool
    /// The parts of the state whose devices the output keeps awake.
    public var parts: Set<StatePart>

    /// Whether the interface exists only within this machine.
    public var isVirtual: Bool { interface.hasPrefix("vcan") }
  }

  /// The port of the dashboard and the programming interface.
  public struct HTTPPort: Equatable, Sendable {
    public var endpoint: TCPEndpoint
    /// The path of the file with the token. The board file must name it if other machines may connect.
    public var tokenFile: String?
    /// Further names under which browsers reach this machine.
    public var hosts: [String]
    /// The address of the map's tiles, such as `https://tiles.example/{z}/{x}/{y}.png`, or the path of a PMTiles file;
    /// `nil` for no map.
    public var tiles: String?
    /// The map's credits from the board file; `nil` if the file states none.
    public var attribution: String?

    public init(at socket: TCPAddress, tokenFile: String?, hosts: [String]) {
      endpoint = TCPEndpoint(addresses: [socket.address], port: socket.port, allow: [])
      self.tokenFile = tokenFile
      self.hosts = hosts
    }

    /// The file of the dashboard's map; `nil` if the map comes from a server, or if there is no map.
    public var tileFile: String? { tiles.flatMap { HTTPPort.isTileFile($0) ? $0 : nil } }

    /// Whether `tiles` is the absolute path of a file whose name ends in `.pmtiles`.
    static func isTileFile(_ tiles: String) -> Bool {
      tiles.utf8.first == UInt8(ascii: "/") && tiles.hasSuffix(".pmtiles")
    }

    /// The credits of the map: `attribution`, or else the ones that OpenStreetMap requires for its servers; `nil` for
    /// no credits.
    public var credit: String? {
      if tileFile != nil { return attribution }
      guard let host = tiles.flatMap(TileOrigin.init(of:))?.host else { return nil }
      let isOpenStreetMap = host == "openstreetmap.org" || host.hasSuffix(".openstreetmap.org")
      return attribution ?? (isOpenStreetMap ? "© OpenStreetMap contributors" : nil)
    }

    /// Whether a client may connect. If the board file names no networks, every client may, because the token protects
    /// the port.
    public func admits(_ client: IPAddress) -> Bool { endpoint.allow.isEmpty || endpoint.admits(client) }

    /// The addresses of the dashboard, such as `http://127.0.0.1:8080`.
    public var address: String { endpoint.sockets.map { "http://\($0)" }.joined(separator: ", ") }

    /// The address of the dashboard for browsers on other machines. It contains the first of `hosts`, or else the first
    /// of `endpoint`'s addresses that is neither a loopback address nor `0.0.0.0` or `::`; `nil` if there is neither,
    /// or if only this machine may connect.
    public var pageAddress: String? {
      guard !endpoint.isLoopback else { return nil }
      let address = endpoint.addresses.first { !$0.isLoopback && !$0.bytes.allSatisfy { $0 == 0 } }
      guard let host = hosts.first ?? address?.description else { return nil }
      return "http://\(HostPort.text(host, endpoint.port))/"
    }

    public var audience: String {
      endpoint.isLoopback || !endpoint.allow.isEmpty ? endpoint.audience : "every machine"
    }
  }

  /// The power settings of a device: its switch, its sleep mode, its currents, its times and its energy budget.
  public struct Power: Equatable, Sendable {
    public enum Switch: Hashable, Sendable {
      /// A supply without a switch, which is always on.
      case none
      case gpio(GPIOLineName, activeLow: Bool)
    }

    public var `switch`: Switch
    /// The sleep mode of a receiver without holders. If the board file names none, this is `nil`, and a supply with a
    /// switch is switched off.
    public var sleep: ReceiverSleep?
    /// Whether the hub chooses the sleep mode for each rest from the expected length of the rest; `sleep` is then
    /// ignored.
    public var choosesSleep = false
    /// Whether a battery, or a separate pin, keeps a receiver's memory while its supply is off.
    public var hasBackupBattery = true
    /// The time from power on until the device answers.
    public var settleTime: Duration
    /// The device's current while it works.
    public var currentMilliamperes: Double
    /// The device's current while it has a supply but no holders.
    public var standbyMilliamperes: Double
    public var supplyVolts: Double
    /// The ID of the supply monitor that measures the current through the switch.
    public var monitor: String?
    /// The device's idle timeout after its last subscriber, and its minimum times on and off.
    public var timing: LifecycleTiming
    /// Whether the hub learns the idle timeout from the pauses between clients and the costs of starts.
    public var learnsIdleTimeout = false
    /// The daily energy budget; `nil` for no limit.
    public var budget: EnergyBudget?

    public var milliwatts: Double { currentMilliamperes * supplyVolts }
    public var standbyMilliwatts: Double { standbyMilliamperes * supplyVolts }
    /// The device's power without holders, if no other device keeps its supply on.
    var restMilliwatts: Double { `switch` != .none && sleep ?? .off == .off ? 0 : standbyMilliwatts }
  }
}

extension Board {
  /// A GPIO line, and the key of the board file that names it.
  public struct NamedLine: Sendable {
    public var key: String
    public var line: GPIOLineName
    /// The switch that the line drives; `nil` for other lines.
    public var `switch`: Power.Switch?
  }

  /// The GPIO lines that the board's devices use.
  public var lines: [NamedLine] {
    devices.flatMap { device -> [NamedLine] in
      var lines: [NamedLine] = []
      if case .gpio(let line, _) = device.power.switch {
        lines.append(NamedLine(key: "devices.\(device.id).power", line: line, switch: device.power.switch))
      }
      if case .imu(let imu) = device, let line = imu.dataReady {
        lines.append(NamedLine(key: "devices.\(device.id).dataReady", line: line, switch: nil))
      }
      return lines
    }
  }

  /// The devices with shared minimum times. All devices on a switch get the longest minimum times that any of them
  /// needs.
  var devicesWithSharedTimes: [DeviceDescription] {
    devices.map { device in
      guard device.power.switch != .none else { return device }
      var power = device.power
      for other in devices where other.power.switch == power.switch {
        power.timing.minimumOn = max(power.timing.minimumOn, other.power.timing.minimumOn)
        power.timing.minimumOff = max(power.timing.minimumOff, other.power.timing.minimumOff)
      }
      return device.powered(by: power)
    }
  }

  /// The receivers among which the hub selects one, in the order of preference: the fused ones, or the first one if none
  /// is fused.
  public var candidateReceivers: [ReceiverDescription] {
    let receivers = devices.compactMap { device -> ReceiverDescription? in
      if case .receiver(let receiver) = device { receiver } else { nil }
    }
    let fused = receivers.filter { fusedDevices.contains($0.id) }
    // If no receiver is fused, one can still be read.
    return fused.isEmpty ? Array(receivers.prefix(1)) : fused
  }

  /// The preferred receiver: the first fused one, or else the first.
  public var receiver: ReceiverDescription? { candidateReceivers.first }

  /// The preferred inertial sensor.
  public var imu: IMUDescription? { preferred { if case .imu(let imu) = $0 { imu } else { nil } } }

  /// The preferred magnetometer.
  public var magnetometer: MagnetometerDescription? {
    preferred { if case .magnetometer(let magnetometer) = $0 { magnetometer } else { nil } }
  }

  private func preferred<Description>(_ description: (DeviceDescription) -> Description?) -> Description? {
    devices.lazy.filter { fusedDevices.contains($0.id) }.compactMap(description).first
      ?? devices.lazy.compactMap(description).first
  }

  /// The kinds of the fused devices.
  var fusedKinds: Set<DeviceStatus.Kind> {
    Set(devices.filter { fusedDevices.contains($0.id) }.map(\.kind))
  }
}

extension Board.NMEAFeed: CustomStringConvertible {
  /// A description such as `fused, 5.0 Hz, RMC GGA`.
  public var description: String {
    var parts = [source.rawValue]
    if let rateHz { parts.append("\(rateHz) Hz") }
    if let names = sentences.names { parts.append(names.joined(separator: " ")) }
    if self.parts != .all { parts.append("for " + self.parts.names) }
    return parts.joined(separator: ", ")
  }
}
