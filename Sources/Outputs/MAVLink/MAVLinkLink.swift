import Fusion
import Glibc
import Guarding
import HardwareIO
import Hub
import MonotonicTime
import Publishing

/// A hub's connection to an autopilot. Its thread holds the port, runs the node, and sends the waiting messages.
///
/// An autopilot sends all the time, so an open port wakes the thread again and again. The port is therefore open only
/// while the devices are awake; while they sleep, the thread waits without a limit. Other threads only put messages
/// into the queue.
final class MAVLinkLink: PeerLink {
  /// Opens the serial port or the UDP socket to the autopilot.
  typealias Opener = @Sendable (_ line: MAVLinkPort.Line) throws(HardwareError) -> any SerialPort

  private struct State {
    var isAwake = false
    var node: MAVLinkNode?
    var report: MAVLinkReport
    /// The waiting frames. The queue is short, so that no value is old when it is sent.
    var queue = BoundedQueue<[UInt8]>(limit: MAVLinkLink.sizeLimit)
    var sequence: UInt8 = 0
    /// The number of messages that were dropped since the last report to `traffic`.
    var dropped = 0
    /// The node's `refusedCount` at the last report to `traffic`.
    var refused = 0

    mutating func append(_ messages: [MAVLinkMessage], for port: MAVLinkPort) {
      for message in messages {
        let frame = message.frame(sequence: sequence, system: port.system, component: port.component)
        sequence &+= 1
        dropped += queue.append(frame, size: frame.count)
      }
    }
  }

  /// The maximum number of waiting bytes. At 57600 baud the line needs 0.4 s for them.
  private static let sizeLimit = 2048
  private static let pause = Duration.milliseconds(20)
  /// The longest wait until the earlier link has closed its port. A serial line may send its last bytes for a second.
  private static let longestClosing = Duration.seconds(3)
  /// The maximum number of reads before the link sends, so that a flood of input does not keep it from sending.
  private static let mostReads = 16

  private let port: MAVLinkPort
  private let isSimulated: Bool
  private let traffic: OutputTraffic.Kind
  private let sink: JournalSink
  private let open: Opener
  private let stop = StopSignal()
  /// The signal `ended` of the link before this one, which may use the same port; `nil` if there was none.
  private let earlier: StopSignal?
  /// Set when the thread has closed its port and ends.
  let ended = StopSignal()
  private let wake = WakeSignal()
  private let state: Guarded<State>

  init(
    _ port: MAVLinkPort, isSimulated: Bool, after earlier: StopSignal?, traffic: OutputTraffic.Kind, sink: JournalSink,
    open: @escaping Opener
  ) {
    self.earlier = earlier
    self.port = port
    self.isSimulated = isSimulated
    self.traffic = traffic
    self.sink = sink
    self.open = open
    state = Guarded(State(report: MAVLinkReport(port)))
  }

  func start() {
    let error = DetachedThread.start("mavlink") { [self] in
      // A stop request must not end this wait. The next link waits only for this one, and would otherwise open the port
      // while the earlier link still has it open.
      if let earlier { _ = Poller(stop: -1).wait(for: earlier.fileDescriptor, atMost: MAVLinkLink.longestClosing) }
      run()
      ended.set()
    }
    if error != 0 { sink.write(.warning, "MAVLink: cannot start a thread for \(port.line)") }
  }

  func end() { stop.set() }

  /// Opens the port with the first state of awake devices, closes it when they go to sleep, and puts the messages of
  /// the state into the queue.
  func send(_ fused: FusedState) {
    let isAwake = fused.mode != .asleep
    let mustWake = state.withLock { state in
      let isChanged = state.isAwake != isAwake
      state.isAwake = isAwake
      guard let node = state.node else { return isChanged }
      let messages = state.report.messages(
        of: fused, sync: node.sync, isArduPilot: node.autopilot?.isArduPilot ?? false)
      state.append(messages, for: port)
      return isChanged || !messages.isEmpty
    }
    if mustWake { wake.raise() }
  }

  private func run() {
    let poller = Poller(stop: stop.fileDescriptor)
    var backoff = ReconnectBackoff()
    var lastProblem: String?
    // The autopilot that the log has named. It is kept while the devices sleep, so that it is not named again.
    var autopilot: MAVLinkNode.Autopilot?
    while !stop.isSet {
      guard state.withLock(\.isAwake) else {
        // The port is closed, so only a signal ends this wait.
        _ = poller.wait(for: -1, or: wake)
        continue
      }
      do throws(HardwareError) {
        let line = try open(port.line)
        defer { line.close() }
        try serve(line, poller, &autopilot) {
          backoff.reset()
          if lastProblem != "" { sink.write(.notice, "MAVLink: messages go to \(port.line)") }
          lastProblem = ""
        }
        state.withLock { $0.node = nil }
      } catch {
        state.withLock { $0.node = nil }
        let problem = "\(error)"
        if problem != lastProblem { sink.write(.warning, "MAVLink: \(problem); the hub tries again") }
        lastProblem = problem
        _ = poller.wait(for: nil, atMost: backoff.next())
      }
    }
  }

  /// Serves the line until the devices are asleep or the thread must stop.
  ///
  /// - Parameters:
  ///   - known: the autopilot that the log names
  ///   - sent: called when the line has taken the first message
  private func serve(
    _ line: any SerialPort, _ poller: Poller, _ known: inout MAVLinkNode.Autopilot?, sent: () -> Void
  ) throws(HardwareError) {
    let clock = MonotonicClock()
    begin(line, at: clock.now)
    var hasSent = false
    var unsent: ArraySlice<UInt8> = []
    while state.withLock(\.isAwake) {
      try receive(line, clock)
      let (deadline, heard) = elapse(to: clock.now)
      if let heard, known.map({ !$0.isSame(as: heard) }) ?? true {
        let maker = heard.isArduPilot ? " (ArduPilot)" : heard.type == MAVLinkLink.px4 ? " (PX4)" : ""
        sink.write(
          .notice, "MAVLink: the autopilot is system \(heard.system), component \(heard.component)\(maker)")
        known = heard
      }
      let isFlushed = try flush(line, &unsent)
      if isFlushed, !hasSent {
        hasSent = true
        sent()
      }
      countLosses()
      let limit = max(.zero, deadline - clock.now)
      let wait = isFlushed ? limit : min(limit, MAVLinkLink.pause)
      if poller.wait(for: line.fileDescriptor, or: wake, atMost: wait) == .stopped { return }
    }
  }

  /// The value for PX4 in the heartbeat's field `autopilot` (MAV_AUTOPILOT_PX4).
  private static let px4 = 12

  private func begin(_ line: any SerialPort, at now: MonotonicInstant) {
    state.withLock { state in
      state.node = MAVLinkNode(port, isSimulated: isSimulated, isStream: line.hasSpeed, at: now)
      state.refused = 0
      state.queue.removeAll()
    }
  }

  private func receive(_ line: any SerialPort, _ clock: MonotonicClock) throws(HardwareError) {
    var buffer = [UInt8](repeating: 0, count: 2048)
    for _ in 0..<MAVLinkLink.mostReads {
      let result = buffer.withUnsafeMutableBytes { bytes in
        Result { () throws(HardwareError) in try line.read(into: bytes) }
      }
      let count = try result.get()
      if count == 0 { return }
      let now = clock.now
      state.withLock { state in
        let answers = state.node?.receive(buffer[..<count], at: now) ?? []
        state.append(answers, for: port)
      }
    }
  }

  /// Queues the node's messages that are due.
  ///
  /// - Returns: when the next message is due, and the autopilot that was heard
  private func elapse(to now: MonotonicInstant) -> (MonotonicInstant, MAVLinkNode.Autopilot?) {
    state.withLock { state in
      let due = state.node?.elapse(to: now) ?? []
      state.append(due, for: port)
      return (state.node?.deadline ?? now + MAVLinkNode.interval, state.node?.autopilot)
    }
  }

  /// Sends the waiting messages.
  ///
  /// - Parameter unsent: the rest of the frame that is being sent
  /// - Returns: `false` if the line takes no more at present
  private func flush(_ line: any SerialPort, _ unsent: inout ArraySlice<UInt8>) throws(HardwareError) -> Bool {
    while true {
      if unsent.isEmpty {
        guard let next = state.withLock({ $0.queue.popFirst() }) else { return true }
        unsent = next[...]
      }
      let count = try line.writeNow(unsent)
      unsent = unsent.dropFirst(count)
      if count == 0 { return false }
    }
  }

  private func countLosses() {
    let (dropped, refused) = state.withLock { state in
      let all = state.node?.refusedCount ?? 0
      defer { (state.dropped, state.refused) = (0, all) }
      return (state.dropped, all - state.refused)
    }
    if dropped > 0 { traffic.valuesDropped(dropped) }
    if refused > 0 { traffic.clientsRefused(refused) }
  }
}
