import Fusion
import MonotonicTime

/// A receiver's epoch as it was fused, in a recording: `sensorhub.Epoch`, little-endian, without padding.
///
/// The fields in their order:
/// - UInt32 presence bits, one for each optional value in the order of the values, beginning with the lowest bit. The
///   bit is 1 if the value is known; an unknown value is stored as 0. All values from the receiver's own fusion to the
///   end are optional.
/// - Int64 CLOCK_MONOTONIC of the epoch's first byte, in nanoseconds
/// - UInt8 mode, status, whether the time is confirmed, jamming, spoofing, receiver's own fusion
/// - Int32 satellites used, jamming indicator
/// - Int64 nanoseconds since 1970
/// - Float64 HDOP, sigma of the time, age of the corrections; latitude, longitude, heights above the ellipsoid and
///   above mean sea level, horizontal and vertical sigma; speed, track, climb, horizontal and vertical sigma of the
///   velocity; stated heading and its sigma
///
/// Units are seconds, degrees, metres and metres per second. All values are stored without rounding.
public enum RecordedEpoch {
  public static let byteCount = 4 + 8 + 6 + 8 + 8 + 16 * 8

  public static func append(_ epoch: ReceiverEpoch, to bytes: inout [UInt8]) {
    var writer = Writer(bytes: bytes)
    bytes = []
    let start = writer.bytes.count
    writer.append(UInt32(0))
    writer.append(epoch.at.nanoseconds)
    let (quality, position, motion) = (epoch.quality, epoch.position, epoch.motion)
    writer.append(UInt8(clamping: quality.mode))
    writer.append(UInt8(clamping: quality.status))
    writer.append(UInt8(quality.isTimeConfirmed ? 1 : 0))
    writer.append(quality.reception.jamming.number)
    writer.append(quality.reception.spoofing.number)
    writer.append(optional: quality.receiverFusion.map(\.number))
    writer.append(optional: quality.satellitesUsed.map { Int32(clamping: $0) })
    writer.append(optional: quality.reception.jammingIndicator.map(Int32.init))
    writer.append(optional: quality.utcNanoseconds)
    writer.append(quality.hdop)
    writer.append(quality.timeSigmaSeconds)
    writer.append(quality.correctionAgeSeconds)
    writer.append(position?.latitudeDegrees)
    writer.append(position?.longitudeDegrees)
    writer.append(position?.altitudeHAEMetres)
    writer.append(position?.altitudeMSLMetres)
    writer.append(position?.horizontalSigmaMetres)
    writer.append(position?.verticalSigmaMetres)
    writer.append(motion?.speedMetresPerSecond)
    writer.append(motion?.trackDegrees)
    writer.append(motion?.climbMetresPerSecond)
    writer.append(motion?.horizontalSigmaMetresPerSecond)
    writer.append(motion?.verticalSigmaMetresPerSecond)
    writer.append(epoch.heading?.degrees)
    writer.append(epoch.heading?.sigmaDegrees)
    writer.write(writer.presence, at: start)
    bytes = writer.bytes
  }

  /// Reads an epoch; `nil` if the data is invalid.
  public static func read(_ data: ArraySlice<UInt8>) -> ReceiverEpoch? {
    guard data.count == byteCount else { return nil }
    return data.withUnsafeBytes { bytes in
      var reader = Reader(bytes: bytes)
      reader.presence = reader.next(UInt32.self)
      let at = MonotonicInstant(nanoseconds: reader.next(Int64.self))
      let (mode, status, confirmed) = (reader.next(UInt8.self), reader.next(UInt8.self), reader.next(UInt8.self))
      let (jammingNumber, spoofingNumber) = (reader.next(UInt8.self), reader.next(UInt8.self))
      guard let jamming = Reception.Jamming.allCases.first(where: { $0.number == jammingNumber }),
        let spoofing = Reception.Spoofing.allCases.first(where: { $0.number == spoofingNumber })
      else { return nil }
      let fusion = reader.optional(UInt8.self)
      let satellites = reader.optional(Int32.self)
      let indicator = reader.optional(Int32.self)
      let utc = reader.optional(Int64.self)
      var quality = FusedState.FixQuality(
        mode: Int(mode), status: Int(status), satellitesUsed: satellites.map(Int.init), hdop: reader.number(),
        utcNanoseconds: utc)
      quality.isTimeConfirmed = confirmed != 0
      quality.timeSigmaSeconds = reader.number()
      quality.correctionAgeSeconds = reader.number()
      quality.reception = Reception(
        jamming: jamming, spoofing: spoofing, jammingIndicator: indicator.map { UInt8(clamping: $0) })
      if let fusion {
        guard let known = ReceiverFusion.allCases.first(where: { $0.number == fusion }) else { return nil }
        quality.receiverFusion = known
      }
      let (latitude, longitude) = (reader.number(), reader.number())
      let heights = (reader.number(), reader.number())
      let sigmas = (reader.number(), reader.number())
      let position: FusedState.Position? = latitude.flatMap { latitude in
        longitude.map {
          FusedState.Position(
            latitudeDegrees: latitude, longitudeDegrees: $0, altitudeHAEMetres: heights.0,
            altitudeMSLMetres: heights.1, horizontalSigmaMetres: sigmas.0, verticalSigmaMetres: sigmas.1)
        }
      }
      let (speed, track, climb) = (reader.number(), reader.number(), reader.number())
      let velocitySigmas = (reader.number(), reader.number())
      let motion = speed.map {
        FusedState.Motion(
          speedMetresPerSecond: $0, trackDegrees: track, climbMetresPerSecond: climb,
          horizontalSigmaMetresPerSecond: velocitySigmas.0, verticalSigmaMetresPerSecond: velocitySigmas.1)
      }
      let (heading, headingSigma) = (reader.number(), reader.number())
      let stated = heading.flatMap { heading in
        headingSigma.map { StatedHeading(degrees: heading, sigmaDegrees: $0) }
      }
      return ReceiverEpoch(at: at, quality: quality, position: position, motion: motion, heading: stated)
    }
  }

  private struct Writer {
    var bytes: [UInt8]
    var presence: UInt32 = 0
    private var optionalCount: UInt32 = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    mutating func append(_ value: some FixedWidthInteger & BitwiseCopyable) {
      withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func append<Value: FixedWidthInteger & BitwiseCopyable>(optional value: Value?) {
      if value != nil { presence |= 1 << optionalCount }
      optionalCount += 1
      append(value ?? 0)
    }

    mutating func append(_ value: Double?) { append(optional: value?.bitPattern) }

    mutating func write(_ value: UInt32, at offset: Int) {
      withUnsafeBytes(of: value.littleEndian) { source in
        for index in 0..<4 { bytes[offset + index] = source[index] }
      }
    }
  }

  private struct Reader {
    let bytes: UnsafeRawBufferPointer
    var presence: UInt32 = 0
    private var offset = 0
    private var optionalCount: UInt32 = 0

    init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    mutating func next<Value: FixedWidthInteger & BitwiseCopyable>(_ type: Value.Type) -> Value {
      defer { offset += MemoryLayout<Value>.size }
      return Value(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: type))
    }

    mutating func optional<Value: FixedWidthInteger & BitwiseCopyable>(_ type: Value.Type) -> Value? {
      let value = next(type)
      defer { optionalCount += 1 }
      return presence & 1 << optionalCount != 0 ? value : nil
    }

    mutating func number() -> Double? { optional(UInt64.self).map { Double(bitPattern: $0) } }
  }
}

// Recordings contain these numbers, so they must not change.

extension Reception.Jamming {
  fileprivate var number: UInt8 {
    switch self {
    case .unknown: 0
    case .none: 1
    case .warning: 2
    case .critical: 3
    }
  }
}

extension Reception.Spoofing {
  fileprivate var number: UInt8 {
    switch self {
    case .unknown: 0
    case .none: 1
    case .indicated: 2
    case .multiple: 3
    }
  }
}

extension ReceiverFusion {
  fileprivate var number: UInt8 {
    switch self {
    case .initializing: 0
    case .fusing: 1
    case .suspended: 2
    case .disabled: 3
    }
  }
}
