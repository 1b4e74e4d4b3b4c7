import Guarding
import HardwareIO

/// A CAN bus in the test's process. Each member receives the frames that the other members send.
///
/// ```swift
/// let bus = StandInCANBus()
/// let (plotter, hub) = (bus.join(), bus.join())
/// _ = try plotter.send(frame)
/// #expect(try hub.receive() == frame)
/// ```
public final class StandInCANBus: Sendable {
  /// All frames that were sent, in order.
  public let frames = Recorder<CANFrame>()
  private let members = Guarded<[Membership]>([])
  private let stalled = Guarded(false)

  public init() {}

  /// Whether the interfaces take no frame, as if no device acknowledged them.
  public var isStalled: Bool {
    get { stalled.withLock { $0 } }
    set { stalled.withLock { $0 = newValue } }
  }

  public func join() -> Member {
    let member = Member(self)
    members.withLock { members in
      members.removeAll { $0.member == nil }
      members.append(Membership(member: member))
    }
    return member
  }

  /// Makes each member's next calls fail, as if the interface had gone down. New members are not affected.
  public func breakDown() {
    let all = members.withLock { members in
      defer { members = [] }
      return members
    }
    for member in all { member.member?.fail() }
  }

  fileprivate func deliver(_ frame: CANFrame, from sender: Member) -> Bool {
    if isStalled { return false }
    let others = members.withLock { $0.compactMap(\.member).filter { $0 !== sender } }
    // A member may answer at once, and its answer comes later on the bus.
    frames.append(frame)
    for member in others { member.take(frame) }
    return true
  }

  /// A member leaves the bus when it is released, as a socket does.
  private struct Membership: Sendable {
    weak var member: Member?
  }

  public final class Member: CANSocket {
    private struct State {
      var frames: [CANFrame] = []
      var isBroken = false
    }

    private let bus: StandInCANBus
    private let signal = WakeSignal()
    private let state = Guarded(State())

    fileprivate init(_ bus: StandInCANBus) { self.bus = bus }

    public var fileDescriptor: Int32 { signal.fileDescriptor }

    public func receive() throws(HardwareError) -> CANFrame? {
      let (frame, isBroken): (CANFrame?, Bool) = state.withLock { state in
        if state.frames.isEmpty {
          if !state.isBroken { signal.clear() }
          return (nil, state.isBroken)
        }
        return (state.frames.removeFirst(), false)
      }
      if isBroken { throw .disconnected("the stand-in bus") }
      return frame
    }

    public func send(_ frame: CANFrame) throws(HardwareError) -> Bool {
      if state.withLock({ $0.isBroken }) { throw .disconnected("the stand-in bus") }
      return bus.deliver(frame, from: self)
    }

    fileprivate func take(_ frame: CANFrame) {
      state.withLock { state in
        state.frames.append(frame)
        signal.raise()
      }
    }

    fileprivate func fail() {
      state.withLock { state in
        state.isBroken = true
        signal.raise()
      }
    }
  }
}
