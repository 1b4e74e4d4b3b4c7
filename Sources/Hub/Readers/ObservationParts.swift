import Devices
import Fusion
import NMEA
import UBX

// Converts a receiver's observation into parts of the fused state.

extension GNSSObservation {
  /// The values that are fused.
  var epoch: ReceiverEpoch {
    ReceiverEpoch(at: at, quality: quality, position: position, motion: motion, heading: heading)
  }

  /// The assumed sigma of a heading without a stated one. Two antennas half a metre apart measure to about a degree.
  private static let headingSigmaDegrees = 2.0

  private var heading: StatedHeading? {
    fix.antennaHeading.map {
      StatedHeading(degrees: $0.degrees, sigmaDegrees: $0.sigmaDegrees ?? GNSSObservation.headingSigmaDegrees)
    }
  }

  var quality: FusedState.FixQuality {
    var quality = FusedState.FixQuality(
      mode: Int(fix.mode.rawValue), status: Int(fix.status.rawValue), satellitesUsed: fix.satellitesUsed.map(Int.init),
      hdop: fix.hdop, utcNanoseconds: fix.time?.nanosecondsSince1970)
    quality.isTimeConfirmed = isTimeConfirmed
    quality.timeSigmaSeconds = fix.timeErrorSeconds
    quality.correctionAgeSeconds = fix.differentialAgeSeconds
    quality.reception = reception
    quality.receiverFusion = fix.receiverFusion.map { ReceiverFusion($0) }
    return quality
  }

  var reception: Reception {
    Reception(
      jamming: Reception.Jamming(fix.interference.jamming), spoofing: Reception.Spoofing(fix.interference.spoofing),
      jammingIndicator: fix.interference.jammingIndicator)
  }

  var position: FusedState.Position? {
    guard fix.mode >= .twoDimensional, let position = fix.position else { return nil }
    return FusedState.Position(
      latitudeDegrees: position.latitudeDegrees, longitudeDegrees: position.longitudeDegrees,
      altitudeHAEMetres: fix.altitudeHAEMetres, altitudeMSLMetres: fix.altitudeMSLMetres,
      horizontalSigmaMetres: horizontalSigma, verticalSigmaMetres: verticalSigma)
  }

  var motion: FusedState.Motion? {
    guard fix.mode >= .twoDimensional, let speed = fix.speedMetresPerSecond else { return nil }
    let reception = reception
    let stated = fix.speedErrorMetresPerSecond.flatMap { $0 > 0 ? $0 : nil }
    let horizontal = fix.velocitySigmas.map { (Double($0.x * $0.x + $0.y * $0.y) / 2).squareRoot() } ?? stated
    // If the climb follows from two heights, the receiver states no error for it.
    let vertical = fix.velocitySigmas.map { Double($0.z) } ?? (fix.velocity == nil ? nil : stated)
    return FusedState.Motion(
      speedMetresPerSecond: speed, trackDegrees: fix.trackDegrees, climbMetresPerSecond: fix.climbMetresPerSecond,
      horizontalSigmaMetresPerSecond: horizontal.map { reception.doubted(velocitySigma: $0) },
      verticalSigmaMetresPerSecond: vertical.map { reception.doubted(velocitySigma: $0) })
  }

  /// The sigma to use, in metres. A stated sigma is enlarged if the receiver reports jamming or spoofing. If none is
  /// stated, the value is an assumed sigma while the receiver reports jamming or spoofing, and `nil` otherwise.
  private var horizontalSigma: Double? {
    let reception = reception
    let stated = statedHorizontalSigma
    if stated == nil, reception.doubted(positionSigma: 1) == 1 { return nil }
    return reception.doubted(positionSigma: stated ?? 2 * GNSSObservation.rangeSigmaMetres)
  }

  private var verticalSigma: Double? { statedVerticalSigma.map { reception.doubted(positionSigma: $0) } }

  /// The receiver's own sigma, or the dilution of precision times the usual range error.
  private var statedHorizontalSigma: Double? {
    if let sigmas = fix.positionSigmas { return (Double(sigmas.x * sigmas.x + sigmas.y * sigmas.y) / 2).squareRoot() }
    if let latitude = errorStatistics?.statistics.latitudeSigmaMetres,
      let longitude = errorStatistics?.statistics.longitudeSigmaMetres
    {
      return ((latitude * latitude + longitude * longitude) / 2).squareRoot()
    }
    return fix.horizontalErrorMetres ?? fix.hdop.map { $0 * GNSSObservation.rangeSigmaMetres }
  }

  private var statedVerticalSigma: Double? {
    fix.positionSigmas.map { Double($0.z) } ?? errorStatistics?.statistics.altitudeSigmaMetres ?? fix
      .verticalErrorMetres
      ?? fix.vdop.map { $0 * GNSSObservation.rangeSigmaMetres }
  }

  /// The sigma of a position per unit of the dilution of precision, for a receiver that states no accuracy.
  static let rangeSigmaMetres = 5.0
}

extension ReceiverFusion {
  fileprivate init(_ mode: FusionMode) {
    switch mode {
    case .initializing: self = .initializing
    case .fusing: self = .fusing
    case .suspended: self = .suspended
    case .disabled: self = .disabled
    }
  }
}

extension Reception.Jamming {
  fileprivate init(_ report: JammingReport) {
    switch report {
    case .unknown: self = .unknown
    case .none: self = .none
    case .warning: self = .warning
    case .critical: self = .critical
    }
  }
}

extension Reception.Spoofing {
  fileprivate init(_ report: SpoofingReport) {
    switch report {
    case .unknown: self = .unknown
    case .none: self = .none
    case .indicated: self = .indicated
    case .multiple: self = .multiple
    }
  }
}
