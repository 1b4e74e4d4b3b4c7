import Fusion
import Glibc
import Hub
import MonotonicTime
import NMEA

/// The fused state as messages of MAVLink. A value is sent again only after it was measured again.
struct MAVLinkReport {
  /// Limits how often a message is sent.
  private struct MessageRate {
    var next: MonotonicInstant?
    var measured: MonotonicInstant?
  }

  /// The receiver's values, which both GPS_INPUT and GPS_RAW_INT contain.
  private struct Receiver {
    /// The kind of the fix, by GPS_FIX_TYPE: 1 for none.
    var fixType = 1
    /// The position; `nil` without a fix.
    var position: FusedState.Position?
    var motion: FusedState.Motion?
    var fix: FusedState.FixQuality?
    /// The heading in hundredths of degrees, 36000 for north, 0 if it is unknown.
    var yaw = 0
  }

  /// The interval of messages for receivers. ArduPilot refuses a receiver that is slower.
  private static let receiverInterval = Duration.milliseconds(200)
  /// If the position is this far from the local origin, in metres, the origin moves there, so that the earth's
  /// curvature does not matter.
  private static let longestDistance = 20_000.0
  /// After a longer gap between two poses, the position may have jumped, so the pose counts as reset.
  private static let longestGap = Duration.seconds(2)
  /// The value of an unknown HDOP or VDOP.
  private static let unknownDilution = 65_535.0
  /// The factor from a standard deviation along one axis to that in the horizontal plane.
  private static let radial = 2.0.squareRoot()
  private static let degrees = 180 / Double.pi
  /// The start of GPS time in seconds since 1970. GPS time is ahead of UTC by `leapSeconds`, unchanged since 2017.
  private static let gpsStart: Int64 = 315_964_800
  private static let leapSeconds: Int64 = 18
  private static let week: Int64 = 604_800_000

  private let port: MAVLinkPort
  private var messageRates: [MAVLinkMessage.Kind: MessageRate] = [:]
  private var origin: GeodeticPosition?
  private var resetCount: UInt8 = 0
  private var lastPose: MonotonicInstant?
  private var wasReckoned = false

  init(_ port: MAVLinkPort) { self.port = port }

  /// The messages of a state that are due.
  ///
  /// - Parameters:
  ///   - sync: converts times to those of the autopilot
  ///   - isArduPilot: whether the autopilot is ArduPilot, which takes poses in one frame only
  mutating func messages(
    of state: FusedState, sync: MAVLinkTimeSync, isArduPilot: Bool
  ) -> [MAVLinkMessage] {
    // While the devices are asleep, the state's position is no longer the present one.
    guard state.mode != .asleep else { return [] }
    var messages: [MAVLinkMessage] = []
    // A state without a position is sent too, so that the autopilot learns that there is none.
    if let measured = state.position?.at ?? state.fix?.at {
      let time = sync.time(at: measured)
      let receiver = MAVLinkReport.receiver(of: state)
      for (choice, kind) in [(MAVLinkPort.Message.gpsInput, MAVLinkMessage.Kind.gpsInput), (.gpsRaw, .gpsRaw)]
      where port.messages.contains(choice)
        && isDue(kind, every: MAVLinkReport.receiverInterval, measured: measured, at: state.at)
      {
        messages.append(
          kind == .gpsInput
            ? MAVLinkReport.gpsInput(receiver, time, gpsTime: MAVLinkReport.gpsTime(of: state, at: measured))
            : MAVLinkReport.gpsRaw(receiver, time))
      }
    }
    if let pose = pose(of: state, sync: sync, isArduPilot: isArduPilot) { messages.append(pose) }
    return messages
  }

  private mutating func isDue(
    _ kind: MAVLinkMessage.Kind, every interval: Duration, measured: MonotonicInstant, at now: MonotonicInstant
  ) -> Bool {
    let rate = messageRates[kind] ?? MessageRate()
    if let next = rate.next, now < next { return false }
    if measured == rate.measured { return false }
    // The interval is slightly shorter, so that a state that comes slightly early is sent too.
    messageRates[kind] = MessageRate(next: now + interval * 0.95, measured: measured)
    return true
  }

  private static func receiver(of state: FusedState) -> Receiver {
    var receiver = Receiver()
    receiver.fix = state.fix?.value
    // A dead-reckoned position is not a fix. Without a fix the autopilot uses its own sensors, whose errors it knows
    // better.
    guard let position = state.position?.value, !state.isReckoned else { return receiver }
    receiver.position = position
    receiver.motion = state.motion?.value
    let quality = [2: 4, 3: 6, 4: 5][state.fix?.value.status ?? 1] ?? 3
    let isPlane = state.positionMode < 3 || position.altitudeMSLMetres == nil
    receiver.fixType = isPlane ? 2 : quality
    if let heading = trueHeading(of: state) {
      let turn = Int((heading * degrees * 100).rounded())
      receiver.yaw = turn <= 0 ? turn + 36_000 : turn
    }
    return receiver
  }

  /// The heading from true north in radians, -π to π; `nil` if it is unknown.
  private static func trueHeading(of state: FusedState) -> Double? {
    guard let attitude = state.attitude?.value, attitude.headingSigmaRadians != nil else { return nil }
    return attitude.north == .magnetic ? nil : attitude.quaternion.yaw
  }

  /// The week and the milliseconds of GPS time; `nil` until the receiver has confirmed its date, because autopilots set
  /// their clocks by this time.
  private static func gpsTime(of state: FusedState, at instant: MonotonicInstant) -> (week: Int, milliseconds: Int)? {
    guard state.fix?.value.isTimeConfirmed == true, let utc = state.utc(at: instant) else { return nil }
    let time = utc.nanosecondsSince1970 / 1_000_000 - (gpsStart - leapSeconds) * 1000
    return time < 0 ? nil : (Int(time / week), Int(time % week))
  }

  private static func gpsInput(
    _ receiver: Receiver, _ time: Int64, gpsTime: (week: Int, milliseconds: Int)?
  ) -> MAVLinkMessage {
    let (position, motion) = (receiver.position, receiver.motion)
    let velocity = motion?.velocity
    let horizontal = position?.horizontalSigmaMetres.map { $0 * radial }
    let speed = motion?.horizontalSigmaMetresPerSecond.map { $0 * radial }
    // The values that the autopilot must ignore, by GPS_INPUT_IGNORE_FLAGS. The VDOP is always unknown.
    let unknown: [(flag: Int, isUnknown: Bool)] = [
      (1, position?.altitudeMSLMetres == nil), (2, receiver.fix?.hdop == nil), (4, true), (8, velocity == nil),
      (16, velocity == nil || motion?.climbMetresPerSecond == nil), (32, speed == nil), (64, horizontal == nil),
      (128, position?.verticalSigmaMetres == nil),
    ]
    let flags = unknown.reduce(0) { $1.isUnknown ? $0 | $1.flag : $0 }
    var fields = MAVLinkFields()
    fields.add(Int(time / 1000), bytes: 8)
    fields.add(gpsTime?.milliseconds ?? 0, bytes: 4)
    fields.add(position?.latitudeDegrees, per: 1e-7, bytes: 4, isSigned: true)
    fields.add(position?.longitudeDegrees, per: 1e-7, bytes: 4, isSigned: true)
    fields.addFloat(position?.altitudeMSLMetres ?? 0)
    fields.addFloat(receiver.fix?.hdop ?? unknownDilution)
    fields.addFloat(unknownDilution)
    for speed in [velocity?.x, velocity?.y, velocity?.z] { fields.addFloat(speed ?? 0) }
    for accuracy in [speed, horizontal, position?.verticalSigmaMetres] { fields.addFloat(accuracy ?? 0) }
    fields.add(flags, bytes: 2)
    fields.add(gpsTime?.week ?? 0, bytes: 2)
    // The receiver's number. The hub reports one receiver.
    fields.add(0, bytes: 1)
    fields.add(receiver.fixType, bytes: 1)
    fields.add(receiver.fix?.satellitesUsed.map(Double.init), per: 1, bytes: 1)
    fields.add(receiver.yaw, bytes: 2)
    return MAVLinkMessage(.gpsInput, fields)
  }

  private static func gpsRaw(_ receiver: Receiver, _ time: Int64) -> MAVLinkMessage {
    let (position, motion) = (receiver.position, receiver.motion)
    let track = motion?.trackDegrees.map { $0 >= 359.995 ? 0 : $0 }
    var fields = MAVLinkFields()
    fields.add(Int(time / 1000), bytes: 8)
    fields.add(position?.latitudeDegrees, per: 1e-7, bytes: 4, isSigned: true)
    fields.add(position?.longitudeDegrees, per: 1e-7, bytes: 4, isSigned: true)
    fields.add(position?.altitudeMSLMetres, per: 1e-3, bytes: 4, isSigned: true)
    fields.add(receiver.fix?.hdop, per: 0.01, bytes: 2, unknown: 0xFFFF)
    fields.add(nil, per: 0.01, bytes: 2, unknown: 0xFFFF)
    fields.add(motion?.speedMetresPerSecond, per: 0.01, bytes: 2, unknown: 0xFFFF)
    fields.add(track, per: 0.01, bytes: 2, unknown: 0xFFFF)
    fields.add(receiver.fixType, bytes: 1)
    fields.add(receiver.fix?.satellitesUsed.map(Double.init), per: 1, bytes: 1, unknown: 0xFF)
    fields.add(position?.altitudeHAEMetres, per: 1e-3, bytes: 4, isSigned: true)
    fields.add(position?.horizontalSigmaMetres.map { $0 * radial }, per: 1e-3, bytes: 4)
    fields.add(position?.verticalSigmaMetres, per: 1e-3, bytes: 4)
    fields.add(motion?.horizontalSigmaMetresPerSecond.map { $0 * radial }, per: 1e-3, bytes: 4)
    // The accuracy of the track is unknown.
    fields.add(0, bytes: 4)
    fields.add(receiver.yaw, bytes: 2)
    return MAVLinkMessage(.gpsRaw, fields)
  }

  /// ODOMETRY or VISION_POSITION_ESTIMATE, if one is wanted and due. A pose needs a position with its height, and a
  /// heading from true north.
  private mutating func pose(
    of state: FusedState, sync: MAVLinkTimeSync, isArduPilot: Bool
  ) -> MAVLinkMessage? {
    let isOdometry = port.messages.contains(.odometry)
    let kind = isOdometry ? MAVLinkMessage.Kind.odometry : .visionPosition
    guard isOdometry || port.messages.contains(.visionPosition), let position = state.position,
      let height = position.value.altitudeHAEMetres, let attitude = state.attitude?.value,
      MAVLinkReport.trueHeading(of: state) != nil,
      isDue(kind, every: .seconds(1 / port.rateHz), measured: position.at, at: state.at)
    else { return nil }
    let place = GeodeticPosition(
      latitudeDegrees: position.value.latitudeDegrees, longitudeDegrees: position.value.longitudeDegrees,
      altitude: height)
    let offset = offset(of: place, at: position.at, isReckoned: state.isReckoned)
    var fields = MAVLinkFields()
    fields.add(Int(sync.time(at: position.at) / 1000), bytes: 8)
    for value in [offset.x, offset.y, offset.z] { fields.addFloat(value) }
    let (horizontal, vertical) = (position.value.horizontalSigmaMetres, position.value.verticalSigmaMetres)
    let tilt = attitude.inclinationSigmaRadians
    let sigmas = [horizontal, horizontal, vertical, tilt, tilt, attitude.headingSigmaRadians]
    let quaternion = attitude.quaternion
    guard isOdometry else {
      for angle in [quaternion.roll, quaternion.pitch, quaternion.yaw] { fields.addFloat(angle) }
      fields.addCovariance(sigmas)
      fields.add(Int(resetCount), bytes: 1)
      return MAVLinkMessage(kind, fields)
    }
    for value in [quaternion.w, quaternion.x, quaternion.y, quaternion.z] { fields.addFloat(value) }
    let motion = state.motion?.value
    // If the climb is unknown, the velocity in body axes is unknown too. A climb of zero would look measured.
    let isKnown = motion?.climbMetresPerSecond != nil
    let velocity = isKnown ? motion?.velocity.map { quaternion.conjugate.rotate($0) } : nil
    for speed in [velocity?.x, velocity?.y, velocity?.z] { fields.addFloat(speed) }
    let rates = state.rates?.value
    for rate in [rates?.x, rates?.y, rates?.z] { fields.addFloat(rate) }
    fields.addCovariance(sigmas)
    // Each axis of the body gets the larger one of the horizontal and the vertical sigma, so the attitude does not
    // matter. The sigma of the rates is unknown.
    let climb = motion?.verticalSigmaMetresPerSecond
    let speed = motion?.horizontalSigmaMetresPerSecond.map { max($0, climb ?? $0) }
    fields.addCovariance([velocity == nil ? nil : speed, speed, speed, 0, 0, 0])
    // The axes of the offset point north, east and down. ArduPilot accepts only MAV_FRAME_LOCAL_FRD. In that frame the
    // first axis need not point north, so other autopilots get MAV_FRAME_LOCAL_NED.
    fields.add(isArduPilot ? 20 : 1, bytes: 1)
    // The velocity and the rates are in the frame MAV_FRAME_BODY_FRD.
    fields.add(12, bytes: 1)
    fields.add(Int(resetCount), bytes: 1)
    // The estimator is MAV_ESTIMATOR_TYPE_GPS, or …_GPS_INS if an IMU is fused.
    fields.add(state.mode == .gnss ? 4 : 5, bytes: 1)
    // The quality in percent is unknown.
    fields.add(0, bytes: 1)
    return MAVLinkMessage(kind, fields)
  }

  /// The vector from the local origin in metres north, east, down. Counts a reset if the position may have jumped.
  private mutating func offset(
    of place: GeodeticPosition, at instant: MonotonicInstant, isReckoned: Bool
  ) -> SIMD3<Double> {
    let hasGap = lastPose.map { instant - $0 > MAVLinkReport.longestGap } ?? false
    if hasGap || wasReckoned && !isReckoned { resetCount &+= 1 }
    (lastPose, wasReckoned) = (instant, isReckoned)
    if let origin {
      let offset = place.offset(from: origin)
      if max(abs(offset.x), abs(offset.y)) < MAVLinkReport.longestDistance { return offset }
      resetCount &+= 1
    }
    origin = place
    return .zero
  }
}
