extension Sentence {
  /// The type of a sentence, without its content.
  enum Kind: UInt8, Sendable {
    case bwc, depth, dtm, gbs, gga, gll, gns, grs, gsa, gst, gsv, heading, mtw, rmc, rot, sti, txt, vtg, wind, xdr, zda
    case airohaJamming, garminAltitude, garminErrorEstimate, garminFix, garminVelocity, mediaTekAcknowledgement
    case ksxt, uniHeading, pashr, pstiFix, pstiBaseline, pstiAttitude, pstiStatistics, pubx, sirfErrorEstimate
  }

  var kind: Kind {
    switch content {
    case .airohaJamming: .airohaJamming
    case .bwc: .bwc
    case .depth: .depth
    case .dtm: .dtm
    case .gbs: .gbs
    case .gga: .gga
    case .gll: .gll
    case .gns: .gns
    case .grs: .grs
    case .gsa: .gsa
    case .gst: .gst
    case .gsv: .gsv
    case .heading: .heading
    case .ksxt: .ksxt
    case .uniHeading: .uniHeading
    case .mtw: .mtw
    case .rmc: .rmc
    case .rot: .rot
    case .sti: .sti
    case .txt: .txt
    case .vtg: .vtg
    case .wind: .wind
    case .xdr: .xdr
    case .zda: .zda
    case .garminAltitude: .garminAltitude
    case .garminErrorEstimate: .garminErrorEstimate
    case .garminFix: .garminFix
    case .garminVelocity: .garminVelocity
    case .mediaTekAcknowledgement: .mediaTekAcknowledgement
    case .pashr: .pashr
    case .psti(let content):
      switch content {
      case .fix: .pstiFix
      case .baseline: .pstiBaseline
      case .attitude: .pstiAttitude
      case .statistics: .pstiStatistics
      }
    case .pubx: .pubx
    case .sirfErrorEstimate: .sirfErrorEstimate
    }
  }
}

extension Sentence.Kind {
  /// Whether this is one of the four kinds of which every receiver sends at least one per epoch.
  var statesPosition: Bool {
    switch self {
    case .gga, .rmc, .gns, .gll: true
    default: false
    }
  }
}
