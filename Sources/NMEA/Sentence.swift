/// A parsed sentence.
public struct Sentence: Equatable, Sendable {
  public var talker: Talker
  public var content: Content

  public enum Content: Equatable, Sendable {
    case airohaJamming(AirohaJamming)
    case bwc(BWC)
    case depth(Depth)
    case dtm(DTM)
    case gbs(GBS)
    case gga(GGA)
    case gll(GLL)
    case gns(GNS)
    case grs(GRS)
    case gsa(GSA)
    case gst(GST)
    case gsv(GSV)
    case heading(Heading)
    case ksxt(KSXT)
    case uniHeading(UniHeading)
    case mtw(MTW)
    case rmc(RMC)
    case rot(ROT)
    case sti(STI)
    case txt(TXT)
    case vtg(VTG)
    case wind(Wind)
    case xdr(XDR)
    case zda(ZDA)
    case garminAltitude(GarminAltitude)
    case garminErrorEstimate(GarminErrorEstimate)
    case garminFix(GarminFix)
    case garminVelocity(GarminVelocity)
    case mediaTekAcknowledgement(MediaTekAcknowledgement)
    case pashr(PASHR)
    case psti(PSTI)
    case pubx(PUBX)
    case quectelAttitude(QuectelAttitude)
    case quectelErrorEstimate(QuectelErrorEstimate)
    case sirfErrorEstimate(SiRFErrorEstimate)
  }

  /// Parses a framed sentence in place, without allocating.
  ///
  /// - Returns: `nil` for a type that is not in `Content`, and for a sentence with fewer fields than its type needs.
  @inline(__always)
  public init?(_ raw: RawSentence) {
    let address = raw.address
    var fields = FieldReader(raw.body(addressLength: address.count), count: raw.fieldCount)
    guard raw.isStandard else {
      if raw.isLog {
        guard address.spells(UniHeading.address), let heading = UniHeading(&fields) else { return nil }
        talker = Talker(address[0], address[1])
        content = .uniHeading(heading)
        return
      }
      guard raw.bytes[0] == Byte.dollar, let content = Content(proprietary: address, &fields) else { return nil }
      talker = Talker(address[0], address[1])
      self.content = content
      return
    }
    talker = Talker(address[0], address[1])
    guard let content = Content(Formatter(address[2], address[3], address[4]), &fields) else { return nil }
    self.content = content
  }
}

/// The three letters of a standard sentence's type, as one number for a switch.
struct Formatter: Equatable {
  let code: UInt32

  @inline(__always)
  init(_ first: UInt8, _ second: UInt8, _ third: UInt8) {
    code = UInt32(first) << 16 | UInt32(second) << 8 | UInt32(third)
  }

  /// - Precondition: three ASCII letters.
  @inline(__always)
  init(_ name: StaticString) {
    let letters = name.utf8Start
    self.init(letters[0], letters[1], letters[2])
  }

  @inline(__always)
  static func ~= (pattern: StaticString, value: Formatter) -> Bool { Formatter(pattern) == value }
}

extension Sentence.Content {
  @inline(__always)
  init?(_ formatter: Formatter, _ fields: inout FieldReader) {
    // The most frequent types come first, because the compiler tests one type after the other.
    switch formatter {
    case "GSV": if let value = GSV(&fields) { self = .gsv(value) } else { return nil }
    case "GSA": if let value = GSA(&fields) { self = .gsa(value) } else { return nil }
    case "RMC": if let value = RMC(&fields) { self = .rmc(value) } else { return nil }
    case "GGA": if let value = GGA(&fields) { self = .gga(value) } else { return nil }
    case "VTG": if let value = VTG(&fields) { self = .vtg(value) } else { return nil }
    case "GLL": if let value = GLL(&fields) { self = .gll(value) } else { return nil }
    default:
      guard let content = Sentence.Content(rare: formatter, &fields) else { return nil }
      self = content
    }
  }

  private init?(rare formatter: Formatter, _ fields: inout FieldReader) {
    switch formatter {
    case "BWC": if let value = BWC(&fields) { self = .bwc(value) } else { return nil }
    case "DBT": if let value = Depth(belowTransducer: &fields) { self = .depth(value) } else { return nil }
    case "DPT": if let value = Depth(withOffset: &fields) { self = .depth(value) } else { return nil }
    case "DTM": if let value = DTM(&fields) { self = .dtm(value) } else { return nil }
    case "GBS": if let value = GBS(&fields) { self = .gbs(value) } else { return nil }
    case "GNS": if let value = GNS(&fields) { self = .gns(value) } else { return nil }
    case "GRS": if let value = GRS(&fields) { self = .grs(value) } else { return nil }
    case "GST": if let value = GST(&fields) { self = .gst(value) } else { return nil }
    case "HDG": if let value = Heading(hdg: &fields) { self = .heading(value) } else { return nil }
    case "HDM": if let value = Heading(hdm: &fields) { self = .heading(value) } else { return nil }
    case "HDT": if let value = Heading(hdt: &fields) { self = .heading(value) } else { return nil }
    case "MTW": if let value = MTW(&fields) { self = .mtw(value) } else { return nil }
    case "MWD": if let value = Wind(mwd: &fields) { self = .wind(value) } else { return nil }
    case "MWV": if let value = Wind(mwv: &fields) { self = .wind(value) } else { return nil }
    case "ROT": if let value = ROT(&fields) { self = .rot(value) } else { return nil }
    case "THS": if let value = Heading(ths: &fields) { self = .heading(value) } else { return nil }
    case "TXT": if let value = TXT(&fields) { self = .txt(value) } else { return nil }
    case "XDR": if let value = XDR(&fields) { self = .xdr(value) } else { return nil }
    case "ZDA": if let value = ZDA(&fields) { self = .zda(value) } else { return nil }
    default: return nil
    }
  }

  init?(proprietary address: UnsafeBufferPointer<UInt8>, _ fields: inout FieldReader) {
    if address.spells("PUBX"), let value = PUBX(&fields) {
      self = .pubx(value)
    } else if address.spells("PGRME"), let value = GarminErrorEstimate(&fields) {
      self = .garminErrorEstimate(value)
    } else if address.spells("PGRMZ"), let value = GarminAltitude(&fields) {
      self = .garminAltitude(value)
    } else if address.spells("PGRMF"), let value = GarminFix(&fields) {
      self = .garminFix(value)
    } else if address.spells("PGRMV"), let value = GarminVelocity(&fields) {
      self = .garminVelocity(value)
    } else if address.spells("PMTK001"), let value = MediaTekAcknowledgement(&fields) {
      self = .mediaTekAcknowledgement(value)
    } else if address.spells("PAIRSPF"), let value = AirohaJamming(&fields, isOtherBand: false) {
      self = .airohaJamming(value)
    } else if address.spells("PAIRSPF5"), let value = AirohaJamming(&fields, isOtherBand: true) {
      self = .airohaJamming(value)
    } else if address.spells("PASHR"), let value = PASHR(&fields) {
      self = .pashr(value)
    } else if address.spells("KSXT"), let value = KSXT(&fields) {
      self = .ksxt(value)
    } else if address.spells("PSTI"), let value = PSTI(&fields) {
      self = .psti(value)
    } else if address.spells("PSRFEPE"), let value = SiRFErrorEstimate(&fields) {
      self = .sirfErrorEstimate(value)
    } else if address.spells("PQTMEPE"), let value = QuectelErrorEstimate(&fields) {
      self = .quectelErrorEstimate(value)
    } else if address.spells("PQTMTAR"), let value = QuectelAttitude(&fields) {
      self = .quectelAttitude(value)
    } else if address.spells("STI"), let value = STI(&fields) {
      self = .sti(value)
    } else {
      return nil
    }
  }
}

extension Sentence {
  /// The type of a sentence, without its content.
  enum Kind: UInt8, Sendable {
    case bwc, depth, dtm, gbs, gga, gll, gns, grs, gsa, gst, gsv, heading, mtw, rmc, rot, sti, txt, vtg, wind, xdr, zda
    case airohaJamming, garminAltitude, garminErrorEstimate, garminFix, garminVelocity, mediaTekAcknowledgement
    case quectelAttitude, quectelErrorEstimate
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
    case .quectelAttitude: .quectelAttitude
    case .quectelErrorEstimate: .quectelErrorEstimate
    case .sirfErrorEstimate: .sirfErrorEstimate
    }
  }
}

extension Sentence.Kind {
  /// Whether this is one of the four kinds that state a position. Every receiver sends at least one of them per epoch.
  var statesPosition: Bool {
    switch self {
    case .gga, .rmc, .gns, .gll: true
    default: false
    }
  }
}

/// The sender of a sentence: the first two letters of its address.
public struct Talker: Equatable, Hashable, Sendable {
  /// The two letters; the first one is in the high byte.
  public let code: UInt16

  @inline(__always)
  public init(_ first: UInt8, _ second: UInt8) { code = UInt16(first) << 8 | UInt16(second) }

  public static let gps = Talker(UInt8(ascii: "G"), UInt8(ascii: "P"))
  public static let glonass = Talker(UInt8(ascii: "G"), UInt8(ascii: "L"))
  public static let galileo = Talker(UInt8(ascii: "G"), UInt8(ascii: "A"))
  public static let beidou = Talker(UInt8(ascii: "G"), UInt8(ascii: "B"))
  public static let beidouOld = Talker(UInt8(ascii: "B"), UInt8(ascii: "D"))
  public static let qzss = Talker(UInt8(ascii: "G"), UInt8(ascii: "Q"))
  public static let qzssOld = Talker(UInt8(ascii: "Q"), UInt8(ascii: "Z"))
  /// Quectel's own talker for its receivers' sentences about BeiDou and QZSS.
  public static let quectel = Talker(UInt8(ascii: "P"), UInt8(ascii: "Q"))
  public static let navic = Talker(UInt8(ascii: "G"), UInt8(ascii: "I"))
  static let magneticCompass = Talker(UInt8(ascii: "H"), UInt8(ascii: "C"))
  /// Several systems in one solution.
  public static let combined = Talker(UInt8(ascii: "G"), UInt8(ascii: "N"))
}

extension Talker: CustomStringConvertible {
  public var description: String {
    String(decoding: [UInt8(code >> 8), UInt8(code & 0xFF)], as: UTF8.self)
  }
}

/// The factors from the units of sentences to SI.
enum Unit {
  /// The international knot, exact.
  static let metresPerSecondPerKnot = 1852.0 / 3600
  static let metresPerSecondPerKilometrePerHour = 1.0 / 3.6
  static let metresPerFoot = 0.3048
  static let metresPerFathom = 1.8288
}
