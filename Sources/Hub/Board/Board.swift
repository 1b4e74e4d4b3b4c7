import Devices
import HardwareIO
import Publishing

/// The devices of a board and their connections. Read from a board file.
public struct Board: Equatable, Sendable {
  public var name: String
  /// In the order in which they are preferred; each has an ID of its own.
  public var devices: [DeviceDescription]
  /// The IDs of the devices that are fused, in the order of the list.
  public var fusedDevices: [String]
  /// The rate of the fused state for clients that request none.
  public var stateRateHz: Double
  /// The board is fixed to a vehicle on wheels that moves nose first.
  public var isVehicle: Bool
  /// Write the fused state to the journal once a second. This is a subscription: it keeps the devices awake.
  public var journalsState: Bool
  /// Where the gpsd protocol is spoken.
  public var gpsdEndpoint: TCPEndpoint?
  /// Which devices a watch of the fused position wakes.
  public var gpsdParts: Set<StatePart>
  /// Where sentences are sent, each place with a choice of its own.
  public var nmea: [NMEAPort]
  public var http: HTTPPort?
  /// Where Signal K's deltas are served.
  public var signalK: SignalKPort?
  /// Where GDL 90 is sent.
  public var gdl90: UDPTarget?
  /// Ports that other machines may connect to are announced to the network.
  public var isAnnounced = true
  /// The socket through which chronyd takes the time (its `refclock SOCK`). This is a subscription: it keeps the receiver
  /// awake.
  public var chronySocket: String?
  /// The contents and the folder of the recording.
  public var record: RecordSettings?
  /// The broker that is joined.
  public var fleet: FleetSettings?
  /// Areas whose edge is watched. Each is a subscription: receivers are woken for a fix now and then.
  public var fences: [FenceSettings]
  /// What is done when something happens that people must be told of.
  public var hooks: [HookSettings]
  /// Fixes that are taken without a client. Each is a subscription too.
  public var requests: [StandingRequest]

  /// Whose sentences, which of them and how often.
  public struct NMEAFeed: Equatable, Sendable {
    public enum Source: String, CaseIterable, Sendable {
      /// The receiver's own sentences.
      case receiver
      /// The fused state, in sentences of the hub's own.
      case fused
    }

    public var source: Source
    /// How often those of the fused state are sent; `nil` for with each of the receiver's epochs.
    public var rateHz: Double?
    public var sentences: SentenceChoice
    /// Which devices those of the fused state wake.
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

  /// Where sentences are sent.
  public struct NMEAPort: Equatable, Sendable {
    public enum Place: Equatable, Sendable {
      /// To each connected client.
      case clients(TCPEndpoint)
      case datagrams(UDPTarget)
    }

    public var place: Place
    public var feed: NMEAFeed

    /// Where clients connect.
    public var endpoint: TCPEndpoint? { if case .clients(let endpoint) = place { endpoint } else { nil } }
    /// Where datagrams are sent.
    public var target: UDPTarget? { if case .datagrams(let target) = place { target } else { nil } }
  }

  /// Where Signal K's deltas are served.
  public struct SignalKPort: Equatable, Sendable {
    public var endpoint: TCPEndpoint
    /// The number by which other vessels know this one; `nil` if it has none.
    public var mmsi: String?

    public init(endpoint: TCPEndpoint, mmsi: String? = nil) {
      self.endpoint = endpoint
      self.mmsi = mmsi
    }
  }

  /// Where the dashboard and the programming interface are served.
  public struct HTTPPort: Equatable, Sendable {
    public var endpoint: TCPEndpoint
    /// The file with the password; needed where others than this machine may connect.
    public var tokenFile: String?
    /// Names besides this machine's own under which browsers know it.
    public var hosts: [String]
    /// Where the dashboard's map comes from, such as `https://tiles.example/{z}/{x}/{y}.png`, or the path of a PMTiles file; `nil`
    /// for no map.
    public var tiles: String?
    /// The credits of the map.
    public var attribution: String?

    /// At one address.
    public init(at socket: TCPAddress, tokenFile: String?, hosts: [String]) {
      endpoint = TCPEndpoint(addresses: [socket.address], port: socket.port, allow: [])
      self.tokenFile = tokenFile
      self.hosts = hosts
    }

    /// The file that the dashboard's map is in; `nil` if the map comes from a server, or there is none.
    public var tileFile: String? { tiles.flatMap { HTTPPort.isTileFile($0) ? $0 : nil } }

    /// Whether `tiles` is the whole path of a file, which can only be a PMTiles file by its name.
    static func isTileFile(_ tiles: String) -> Bool {
      tiles.utf8.first == UInt8(ascii: "/") && tiles.hasSuffix(".pmtiles")
    }

    /// Whom to credit on the map: as the board file says, or as OpenStreetMap asks for where its servers are used.
    public var credit: String? {
      if tileFile != nil { return attribution }
      guard let host = tiles.flatMap(TileOrigin.init(of:))?.host else { return nil }
      let isOpenStreetMap = host == "openstreetmap.org" || host.hasSuffix(".openstreetmap.org")
      return attribution ?? (isOpenStreetMap ? "© OpenStreetMap contributors" : nil)
    }

    /// A client with the token may connect, unless networks are named. A token makes networks unnecessary.
    public func admits(_ client: IPAddress) -> Bool { endpoint.allow.isEmpty || endpoint.admits(client) }

    /// `http://127.0.0.1:8080`, for each address.
    public var address: String { endpoint.sockets.map { "http://\($0)" }.joined(separator: ", ") }

    /// Where browsers of other machines find the dashboard: at the first of its names, or else at the first address of its own;
    /// `nil` where there is neither, and where it is for this machine alone.
    public var pageAddress: String? {
      guard !endpoint.isLoopback else { return nil }
      let address = endpoint.addresses.first { !$0.isLoopback && !$0.bytes.allSatisfy { $0 == 0 } }
      guard let host = hosts.first ?? address?.description else { return nil }
      return "http://\(HostPort.text(host, endpoint.port))/"
    }

    public var audience: String {
      endpoint.isLoopback || !endpoint.allow.isEmpty ? endpoint.audience : "everybody"
    }
  }

  /// How a device is powered, and what that costs.
  public struct Power: Equatable, Sendable {
    public enum Switch: Hashable, Sendable {
      /// Always supplied.
      case none
      case gpio(GPIOLineName, activeLow: Bool)
    }

    public var `switch`: Switch
    /// The kind of rest of a receiver without holders; `nil` without a setting in the board file: its supply is
    /// switched off, if possible.
    public var sleep: ReceiverSleep?
    /// How a receiver rests is chosen each time, by how long that is expected to be; `sleep` says nothing then.
    public var choosesSleep = false
    /// Whether a receiver's memory is kept while its supply is off, by a battery or by a pin of its own.
    public var hasBackupBattery = true
    /// From power on until the device can be talked to.
    public var settleTime: Duration
    /// The device's power while it works.
    public var currentMilliamperes: Double
    /// Its power while it is supplied without holders.
    public var standbyMilliamperes: Double
    public var supplyVolts: Double
    /// The ID of the supply monitor that measures the current through the switch.
    public var monitor: String?
    /// How long the device runs on after its last subscriber, and its least times on and off.
    public var timing: LifecycleTiming
    /// It lingers as its visits and starts have taught, in place of always as long.
    public var lingersAsLearned = false
    /// Its daily energy budget; `nil` for no limit.
    public var budget: EnergyBudget?

    public var milliwatts: Double { currentMilliamperes * supplyVolts }
    public var standbyMilliwatts: Double { standbyMilliamperes * supplyVolts }
    /// Its power without holders, unless its supply is on for others.
    var restMilliwatts: Double { `switch` != .none && sleep ?? .off == .off ? 0 : standbyMilliwatts }
  }
}

extension Board {
  /// A GPIO line and the key of the board file that names it.
  public struct NamedLine: Sendable {
    public var key: String
    public var line: GPIOLineName
    /// The switch that the line works; `nil` for other lines.
    public var `switch`: Power.Switch?
  }

  /// The lines that the board's devices use.
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

  /// The devices, with the minimum times of each switch for all devices on it: a time that is too short for one is too
  /// short.
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

  /// The receiver that is preferred: the first that is fused, or else the first.
  public var receiver: ReceiverDescription? {
    preferred { if case .receiver(let receiver) = $0 { receiver } else { nil } }
  }

  /// The inertial sensor that is preferred.
  public var imu: IMUDescription? { preferred { if case .imu(let imu) = $0 { imu } else { nil } } }

  /// The magnetometer that is preferred.
  public var magnetometer: MagnetometerDescription? {
    preferred { if case .magnetometer(let magnetometer) = $0 { magnetometer } else { nil } }
  }

  private func preferred<Description>(_ description: (DeviceDescription) -> Description?) -> Description? {
    devices.lazy.filter { fusedDevices.contains($0.id) }.compactMap(description).first
      ?? devices.lazy.compactMap(description).first
  }

  /// The kinds of devices that can be fused.
  var fusedKinds: Set<DeviceStatus.Kind> {
    Set(devices.filter { fusedDevices.contains($0.id) }.map(\.kind))
  }
}

extension Board.NMEAFeed: CustomStringConvertible {
  /// `fused, 5 Hz, RMC GGA`
  public var description: String {
    var parts = [source.rawValue]
    if let rateHz { parts.append("\(rateHz) Hz") }
    if let names = sentences.names { parts.append(names.joined(separator: " ")) }
    if self.parts != .all { parts.append("for " + self.parts.names) }
    return parts.joined(separator: ", ")
  }
}
