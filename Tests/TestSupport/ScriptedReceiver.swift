import CLinux
import Glibc
import Guarding
import MonotonicTime

/// The far end of a serial line, which sends what a test specifies: regular sentences, and an answer to each request.
///
/// Its own clock advances with its output. So by this clock its answers are never late, however long a busy machine
/// keeps its thread waiting.
public final class ScriptedReceiver: Sendable {
  /// The effect of a request.
  public enum Reaction: Sendable {
    case says([UInt8])
    /// Sends something after a delay.
    case saysLate([UInt8], milliseconds: Int32)
    case silence
    case fallsAsleep
    case hangsUp
    /// Sends something, and communicates at another speed from then on.
    case goesTo(Int, saying: [UInt8])
    /// Sends something, and no more sentences from then on. It still receives.
    case fallsSilent(saying: [UInt8])
  }

  private struct State {
    var controller: Int32
    var isAsleep: Bool
    var isSilent = false
    var epochs = 0
    /// The receiver's speed. At another speed it sends noise and receives nothing.
    var speed: Int?
    /// The beginning of an incomplete request.
    var begun: [UInt8] = []
  }

  public let path: String
  /// The receiver's clock, which tests use to wait for its output.
  public let clock = ManualClock()
  /// The complete UBX and CASIC messages and sentences that were received, in order.
  public let requests = Recorder<[UInt8]>()
  private let state: Guarded<State>
  private let stop = StopSignal()
  private let more: [UInt8]
  private let wakes: Bool
  private let takesLines: Bool
  private let react: @Sendable ([UInt8]) -> Reaction

  /// - Parameters:
  ///   - more: sent with each epoch, of which there are ten a second while the receiver is awake
  ///   - speed: the only speed at which it communicates; `nil` for any
  ///   - wakes: whether any received byte wakes it
  ///   - takesLines: whether lines of words are requests
  public init(
    saying more: [UInt8] = [], speed: Int? = nil, isAsleep: Bool = false, wakes: Bool = true,
    takesLines: Bool = false,
    reacting react: @escaping @Sendable ([UInt8]) -> Reaction
  ) {
    var name = [CChar](repeating: 0, count: 128)
    let controller = clinux_open_pseudo_terminal(&name, 128)
    precondition(controller >= 0, "cannot open a pseudo-terminal")
    path = name.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    var settings = termios()
    tcgetattr(controller, &settings)
    cfmakeraw(&settings)
    // A new pseudo-terminal is set to 38400. A receiver of that speed would send before the hub opens the line, and the
    // hub would read these bytes at another speed.
    cfsetspeed(&settings, speed_t(B50))
    tcsetattr(controller, TCSANOW, &settings)
    // A hub may open the line between the poll that reports a hang-up and the read. That read would then wait for the
    // hub, which itself waits for data.
    _ = fcntl(controller, F_SETFL, fcntl(controller, F_GETFL) | O_NONBLOCK)
    state = Guarded(State(controller: controller, isAsleep: isAsleep, speed: speed))
    self.more = more
    self.wakes = wakes
    self.takesLines = takesLines
    self.react = react
    let error = DetachedThread.start("scripted receiver") { [weak self, stop] in
      while !stop.isSet, let receiver = self { receiver.work() }
      close(controller)
    }
    precondition(error == 0, "cannot start a thread")
  }

  deinit { stop.set() }

  public func end() { stop.set() }

  public var isAsleep: Bool { state.withLock { $0.isAsleep } }

  /// Switches the power on, so that the receiver is awake, whatever its previous state.
  public func switchOn() { state.withLock { $0.isAsleep = false } }

  /// Whether the line has the receiver's speed, as set by the hub.
  private func isAtItsSpeed(_ controller: Int32) -> Bool {
    guard let speed = state.withLock({ $0.speed }) else { return true }
    var settings = termios()
    tcgetattr(controller, &settings)
    let constants = [
      4800: B4800, 9600: B9600, 19200: B19200, 38400: B38400, 57600: B57600, 115_200: B115200, 230_400: B230400,
    ]
    return constants[speed].map { cfgetospeed(&settings) == speed_t($0) } ?? false
  }

  /// Returns an epoch a tenth of a second after the previous one. A receiver whose time stands still counts as frozen.
  private func nextEpoch() -> [UInt8] {
    let tenths = state.withLock { state in
      state.epochs += 1
      return state.epochs
    }
    func digits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let time = "12\(digits(tenths / 600 % 60))\(digits(tenths / 10 % 60)).\(tenths % 10)0"
    return Array(nmeaLine("GPGLL,5231.0000,N,01322.0000,E,\(time),A,A").utf8)
  }

  /// Simulates a tenth of a second.
  private func work() {
    let controller = state.withLock { $0.controller }
    if !isAsleep, !state.withLock({ $0.isSilent }) {
      write(isAtItsSpeed(controller) ? nextEpoch() + more : [UInt8](repeating: 0xFE, count: 20), controller)
    }
    var descriptor = pollfd(fd: controller, events: Int16(POLLIN), revents: 0)
    guard poll(&descriptor, 1, 100) > 0 else { return clock.advance(by: .milliseconds(100)) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = read(controller, &bytes, bytes.count)
    // No program has the line open.
    guard count > 0 else {
      state.withLock { $0.begun = [] }
      pause(milliseconds: 20)
      return
    }
    guard isAtItsSpeed(controller) else { return }
    if isAsleep {
      if wakes { state.withLock { $0.isAsleep = false } }
      return
    }
    let whole = state.withLock { state in
      let (whole, rest) = requests(in: state.begun + bytes[..<count])
      state.begun = rest
      return whole
    }
    for request in whole {
      requests.append(request)
      perform(react(request), controller)
    }
  }

  private func perform(_ reaction: Reaction, _ controller: Int32) {
    switch reaction {
    case .says(let bytes): write(bytes, controller)
    case .saysLate(let bytes, let milliseconds):
      for _ in 0..<milliseconds / 20 { pause(milliseconds: 20) }
      write(bytes, controller)
    case .silence: break
    case .fallsAsleep: state.withLock { $0.isAsleep = true }
    case .hangsUp: stop.set()
    case .goesTo(let speed, let bytes):
      write(bytes, controller)
      state.withLock { $0.speed = speed }
    case .fallsSilent(let bytes):
      write(bytes, controller)
      state.withLock { $0.isSilent = true }
    }
  }

  private func pause(milliseconds: Int32) {
    _ = poll(nil, 0, milliseconds)
    clock.advance(by: .milliseconds(milliseconds))
  }

  private func write(_ bytes: [UInt8], _ controller: Int32) {
    // Without a reader the pseudo-terminal fills up, which does no harm.
    guard !bytes.isEmpty else { return }
    var descriptor = pollfd(fd: controller, events: Int16(POLLOUT), revents: 0)
    guard poll(&descriptor, 1, 0) > 0, descriptor.revents & Int16(POLLOUT) != 0 else { return }
    _ = bytes.withUnsafeBytes { Glibc.write(controller, $0.baseAddress, $0.count) }
  }

  /// Divides bytes into requests. A request is written at once, but the kernel may deliver it in pieces.
  private func requests(in bytes: [UInt8]) -> (whole: [[UInt8]], rest: [UInt8]) {
    var whole: [[UInt8]] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      guard let length = length(ofRequest: Array(rest.prefix(6)), in: rest) else { return (whole, Array(rest)) }
      if length > 1 { whole.append(Array(rest.prefix(length))) }
      rest = rest.dropFirst(length)
    }
    return (whole, [])
  }

  /// Returns the length of the request that begins here, 1 if this is no request, or `nil` if it is incomplete.
  private func length(ofRequest head: [UInt8], in rest: ArraySlice<UInt8>) -> Int? {
    let isUBX = head[0] == 0xB5
    switch head[0] {
    case UInt8(ascii: "$"): return rest.firstIndex(of: UInt8(ascii: "\n")).map { $0 - rest.startIndex + 1 }
    case UInt8(ascii: "A")...UInt8(ascii: "Z") where takesLines:
      return rest.firstIndex(of: UInt8(ascii: "\n")).map { $0 - rest.startIndex + 1 }
    case 0xB5, 0xBA:
      if head.count > 1, head[1] != (isUBX ? 0x62 : 0xCE) { return 1 }
      guard head.count == 6 else { return nil }
      let length = isUBX ? 8 + Int(head[4]) + Int(head[5]) << 8 : 10 + Int(head[2]) + Int(head[3]) << 8
      return length <= rest.count ? length : nil
    default: return 1
    }
  }
}
