import HardwareIO
import MonotonicTime
import NMEA
import UBX

/// Determines why a receiver has no fix, from the bytes on its line and from the satellites that it lists.
///
/// This value has no clock and does no I/O. The reader reports when it opens the line, the counts so far, and each
/// epoch. Then `finding(at:)` returns the reason at any instant.
public struct FixSearch: Equatable, Sendable {
  /// The reason why there is no fix. A reason about satellites has the number of received satellites, and the strength
  /// of the strongest one in dB-Hz.
  public enum Finding: Equatable, Sendable {
    /// It is too early to tell, because the line has just been opened, or the receiver has just begun to send.
    case starting
    /// No bytes have arrived for this time.
    case silent(Duration)
    /// For this time, bytes have arrived, but no sentence or message.
    case noSentences(Duration)
    /// Sentences or messages arrive, but none has listed satellites recently.
    case noList
    /// No satellite is received.
    case noSatellites
    /// No satellite is received or listed, and the receiver reports that no antenna is connected.
    case openAntenna
    /// No satellite is received or listed, and the receiver reports a short circuit in its antenna.
    case shortedAntenna
    /// Fewer satellites are received than a position needs.
    case fewSatellites(Int, strongest: Int)
    /// Too few satellites are strong enough for their data to be read.
    case weakSignals(Int, strongest: Int)
    /// Enough satellites are strong, and the receiver is reading their orbits.
    case loading(Int, strongest: Int)
  }

  /// The shortest time without bytes after which the line is silent.
  static let shortestSilenceLimit = Duration.seconds(5)
  /// The noise limit if the hub listens at a single speed: after this time, bytes without a sentence count as noise.
  static let noiseLimit = Duration.seconds(5)
  /// The noise limit, in times that the hub listens at one speed, while the hub tries all usual speeds. One round takes
  /// longer, but this time is enough to suspect that no speed is right.
  static let searchNoiseLimit = 8
  /// The shortest time for which a list of satellites is valid.
  static let shortestListLifetime = Duration.seconds(12)
  /// The shortest time that a receiver may take before it lists satellites.
  static let shortestListPatience = Duration.seconds(5)
  /// Noise is reported only if at least this number of bytes has arrived. Fewer bytes may come from interference on a
  /// line to which nothing is connected.
  static let leastNoise = 16
  /// The number of satellites that a position in space needs.
  static let leastSatellites = 4
  /// The minimum strength at which a satellite's data can be read, dB-Hz.
  static let leastStrength = 30

  private struct Sky: Equatable, Sendable {
    var at: MonotonicInstant
    var heard: Int
    var strong: Int
    var strongest: Int
  }

  /// When the line was first opened since the last fix.
  private var openedAt: MonotonicInstant?
  private var lastByteAt: MonotonicInstant?
  private var lastFrameAt: MonotonicInstant?
  private var firstFrameAt: MonotonicInstant?
  /// The number of bytes since the last sentence.
  private var noise = 0
  /// The counts of the present run of the reader.
  private var counters = ReceiverDecoder.Counters()
  private var sky: Sky?
  /// The time between two reports of the receiver, at least a second.
  private let reportInterval: Duration
  /// The receiver's last report about its antenna.
  private var antenna = AntennaStatus.unknown

  /// - Parameter reportInterval: the time between two reports of the receiver, at least a second
  public init(reportInterval: Duration = .seconds(1)) { self.reportInterval = reportInterval }

  /// A limit that allows for one and a half intervals, because a report may be late.
  private func limit(atLeast shortest: Duration) -> Duration { max(shortest, reportInterval * 1.5) }

  /// Records that the line is open. If the reader opens the line again, the earlier findings remain.
  public mutating func opened(at now: MonotonicInstant) {
    openedAt = openedAt ?? now
    counters = ReceiverDecoder.Counters()
  }

  /// Examines the counts after a read.
  ///
  /// - Parameter present: the counts since the line was opened
  public mutating func read(_ present: ReceiverDecoder.Counters, at now: MonotonicInstant) {
    defer { counters = present }
    guard present.bytes != counters.bytes else { return }
    lastByteAt = now
    if present.sentences + present.messages != counters.sentences + counters.messages {
      lastFrameAt = now
      firstFrameAt = firstFrameAt ?? now
      noise = 0
    } else {
      noise += present.bytes - counters.bytes
    }
  }

  /// Records the satellites of an epoch without a fix.
  public mutating func take(_ observation: borrowing GNSSObservation) {
    antenna = observation.fix.interference.antenna
    if observation.sky.isEmpty { return }
    // A satellite may have several signals. Its strongest signal counts.
    var strengths: [SatelliteNumber: Int] = [:]
    for satellite in observation.sky where satellite.signalStrength > 0 {
      strengths[satellite.number] = max(strengths[satellite.number] ?? 0, Int(satellite.signalStrength))
    }
    sky = Sky(
      at: observation.receivedAt, heard: strengths.count,
      strong: strengths.values.count { $0 >= FixSearch.leastStrength }, strongest: strengths.values.max() ?? 0)
  }

  /// The reason why there is no fix at an instant; `nil` while the line is not open.
  ///
  /// - Parameter isSpeedFixed: whether the hub listens at a single speed
  public func finding(at now: MonotonicInstant, isSpeedFixed: Bool) -> Finding? {
    guard let openedAt else { return nil }
    let silence = now - max(openedAt, lastByteAt ?? openedAt)
    if silence >= limit(atLeast: FixSearch.shortestSilenceLimit) { return .silent(silence) }
    let nonsense = now - max(openedAt, lastFrameAt ?? openedAt)
    let noiseLimit =
      isSpeedFixed
      ? FixSearch.noiseLimit
      : limit(atLeast: SerialReceiver.shortestListeningTime) * FixSearch.searchNoiseLimit
    if nonsense >= noiseLimit, noise >= FixSearch.leastNoise { return .noSentences(nonsense) }
    guard let firstFrameAt, now - firstFrameAt >= limit(atLeast: FixSearch.shortestListPatience) else {
      return .starting
    }
    guard let sky, now - sky.at <= max(FixSearch.shortestListLifetime, reportInterval * 3) else {
      return antennaFault ?? .noList
    }
    // A passive antenna draws no current, so a receiver reports it as open although it works.
    if sky.heard == 0 { return antennaFault ?? .noSatellites }
    if sky.heard < FixSearch.leastSatellites { return .fewSatellites(sky.heard, strongest: sky.strongest) }
    if sky.strong < FixSearch.leastSatellites { return .weakSignals(sky.heard, strongest: sky.strongest) }
    return .loading(sky.heard, strongest: sky.strongest)
  }

  private var antennaFault: Finding? {
    switch antenna {
    case .open: .openAntenna
    case .short: .shortedAntenna
    case .unknown, .good: nil
    }
  }
}

extension FixSearch.Finding {
  /// Whether the cause is the line, on which nothing meaningful arrives. Otherwise the cause is the satellites.
  public var isOfLine: Bool {
    switch self {
    case .silent, .noSentences: true
    case .starting, .noList, .noSatellites, .openAntenna, .shortedAntenna, .fewSatellites, .weakSignals, .loading: false
    }
  }

  /// Whether a real receiver's antenna must be checked.
  private var isOfReception: Bool {
    switch self {
    case .noList, .noSatellites, .openAntenna, .shortedAntenna, .fewSatellites, .weakSignals: true
    case .silent, .noSentences, .starting, .loading: false
    }
  }

  /// How long nothing meaningful has arrived on the line; `nil` if the reason is not the line.
  public var lineTrouble: Duration? {
    switch self {
    case .silent(let time), .noSentences(let time): time
    case .starting, .noList, .noSatellites, .openAntenna, .shortedAntenna, .fewSatellites, .weakSignals, .loading: nil
    }
  }

  /// The reason in words.
  ///
  /// - Parameter port: the path of the receiver's line
  public func summary(on port: String) -> String {
    switch self {
    case .starting: "it searches; a fix may take half a minute"
    case .silent(let time): "nothing received on \(port) for \(FixSearch.Finding.text(time))"
    case .noSentences where NetworkSource.isMeant(by: port) || I2CPortName(port) != nil:
      "bytes but no sentences on \(port): not a receiver"
    case .noSentences: "bytes but no sentences on \(port): wrong speed, or not a receiver"
    case .noList: "it has no fix, and lists no satellites"
    case .noSatellites: "no satellite in view: the antenna receives nothing"
    case .openAntenna: "the receiver reports that its antenna is open"
    case .shortedAntenna: "the receiver reports a short circuit in its antenna"
    case .fewSatellites(let count, let strongest):
      (count == 1 ? "1 satellite in view (" : "\(count) satellites in view (up to ")
        + "\(strongest) dB): a position needs \(FixSearch.leastSatellites)"
    case .weakSignals(let count, let strongest):
      "\(count) satellites in view (up to \(strongest) dB): fewer than \(FixSearch.leastSatellites) are strong enough"
    case .loading(let count, let strongest):
      "reception is good (\(count) satellites, up to \(strongest) dB): orbit data is loading"
    }
  }

  /// The next step; `nil` if there is none yet.
  ///
  /// - Parameters:
  ///   - port: the path of the receiver's line, or its address on the network
  ///   - isSpeedFixed: whether the board file gives the only speed at which the hub listens
  public func nextStep(on port: String, isSpeedFixed: Bool) -> String? {
    if isOfReception, SimulatedName.isSimulated(port) {
      return "wait: the receiver is simulated, and its vehicle drives through a tunnel now and then"
    }
    return switch self {
    case .starting: nil
    case .silent where NetworkSource.isMeant(by: port):
      "check that the sender is on and sends to this port, and 'port' in the board file"
    case .noSentences where NetworkSource.isMeant(by: port):
      "check 'port' in the board file: the device there is not a receiver"
    case .silent where ModemPortName.isMeant(by: port):
      "wait: without a fix a modem may report nothing for minutes; then check that an antenna for its receiver is connected"
    case .silent where I2CPortName(port) != nil:
      "check that the receiver's I2C port is enabled, and that SDA and SCL are wired"
    case .noSentences where I2CPortName(port) != nil:
      "check 'address' in the board file: the chip there is not a receiver"
    case .silent: "check that the receiver has power, and that its TX is wired to this board's RX"
    case .noSentences where isSpeedFixed: "leave 'speed' out of the board file, so that the hub finds the speed"
    case .noSentences: "the hub tries all usual speeds; check what is connected: sensorhub probe"
    case .noList:
      "after a minute check its antenna, and that its messages list satellites (GSV, NAV-SAT)"
    case .openAntenna:
      "check the antenna's plug and cable; if the antenna is passive, check that it has a free view of the sky"
    case .shortedAntenna: "check the antenna's plug and cable, and that its current is not too high for the receiver"
    case .noSatellites, .fewSatellites, .weakSignals:
      "check the antenna's plug and cable, and that the antenna has a free view of the sky"
    case .loading: "wait: usually half a minute, up to 13 minutes for a receiver without stored data"
    }
  }

  private static func text(_ time: Duration) -> String {
    let seconds = time.components.seconds
    return seconds < 120 ? "\(seconds) s" : seconds < 7200 ? "\(seconds / 60) min" : "\(seconds / 3600) h"
  }
}
