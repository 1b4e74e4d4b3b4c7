import Hub
import MonotonicTime

/// A component of a MAVLink network. It sends a heartbeat, finds the autopilot by the autopilot's heartbeat, learns the
/// autopilot's time, and answers requests for the time.
///
/// This type decides. `MAVLinkLink` sends and receives.
struct MAVLinkNode {
  struct Autopilot: Equatable {
    var system: UInt8
    var component: UInt8
    /// The kind of autopilot (MAV_AUTOPILOT).
    var type: Int
    var heard: MonotonicInstant

    var isArduPilot: Bool { type == MAVLinkMessage.arduPilot }

    func isSame(as other: Autopilot) -> Bool {
      (system, component, type) == (other.system, other.component, other.type)
    }
  }

  static let interval = Duration.seconds(1)
  /// The autopilot counts as gone after this time without a heartbeat, so that another one may take its place.
  private static let patience = Duration.seconds(5)

  private let system: UInt8
  private let component: UInt8
  private let isSimulated: Bool
  private var reader: MAVLinkReader
  private var refusedAnswers = 0
  private(set) var sync = MAVLinkTimeSync()
  private(set) var autopilot: Autopilot?
  /// When `elapse` must be called.
  private(set) var deadline: MonotonicInstant

  /// - Parameter isStream: whether a frame may be split between two calls of `receive`, as on a serial port
  init(_ port: MAVLinkPort, isSimulated: Bool, isStream: Bool, at now: MonotonicInstant) {
    system = port.system
    component = port.component
    self.isSimulated = isSimulated
    reader = MAVLinkReader(isStream: isStream)
    deadline = now
  }

  /// The number of received frames and answers that were refused.
  var refusedCount: Int { reader.refusedCount + refusedAnswers }

  /// The messages that are due now.
  mutating func elapse(to now: MonotonicInstant) -> [MAVLinkMessage] {
    guard now >= deadline else { return [] }
    deadline = now + MAVLinkNode.interval
    return [.heartbeat(isSimulated: isSimulated)] + question(at: now)
  }

  /// Processes received bytes.
  ///
  /// - Returns: the messages to send in answer
  mutating func receive(_ bytes: some Collection<UInt8>, at now: MonotonicInstant) -> [MAVLinkMessage] {
    reader.read(bytes).flatMap { frame in
      frame.kind == .heartbeat ? takeHeartbeat(frame, at: now) : takeTimeSync(frame, at: now)
    }
  }

  private mutating func takeHeartbeat(_ frame: MAVLinkReader.Frame, at now: MonotonicInstant) -> [MAVLinkMessage] {
    let type = Int(frame.payload[5])
    guard type != MAVLinkMessage.noAutopilot else { return [] }
    let new = Autopilot(system: frame.system, component: frame.component, type: type, heard: now)
    var isFirst = autopilot == nil
    if let known = autopilot, !known.isSame(as: new) {
      // A router may forward the messages of other vehicles, which may have the same numbers. The autopilot of the hub's
      // own vehicle takes precedence.
      let isOwn = new.system == system && known.system != system
      guard isOwn || now - known.heard > MAVLinkNode.patience else { return [] }
      sync = MAVLinkTimeSync()
      isFirst = true
    }
    autopilot = new
    return isFirst ? question(at: now) : []
  }

  private mutating func takeTimeSync(_ frame: MAVLinkReader.Frame, at now: MonotonicInstant) -> [MAVLinkMessage] {
    func number(_ start: Int) -> Int64 {
      frame.payload[start..<start + 8].reversed().reduce(0) { $0 << 8 | Int64($1) }
    }
    let (answer, request) = (number(0), number(8))
    // Older definitions have no target; the reader fills these bytes with 0.
    let target = (frame.payload[16], frame.payload[17])
    guard target.0 == 0 || target.0 == system, target.1 == 0 || target.1 == component else { return [] }
    if answer == 0 {
      // The hub's messages have the autopilot's time, so the answer has it too. To an autopilot that converts message
      // times by such answers, the two clocks then look equal, and it does not change the times.
      return [.timeSync(answer: sync.time(at: now), request: request, to: (frame.system, frame.component))]
    }
    let isOwn = autopilot.map { ($0.system, $0.component) == (frame.system, frame.component) } ?? false
    let isTaken = isOwn && sync.take(request: request, answer: answer, at: now)
    // An answer without a target may be meant for another component, because a router sends it to all components. It
    // is not counted as refused.
    if !isTaken, target.0 != 0 { refusedAnswers += 1 }
    return []
  }

  /// The request for the autopilot's time.
  private mutating func question(at now: MonotonicInstant) -> [MAVLinkMessage] {
    guard let autopilot else { return [] }
    return [.timeSync(request: sync.begin(at: now), to: (autopilot.system, autopilot.component))]
  }
}
