/// The possible lengths of messages by kind. Any other length is a bit error, and the framer does not wait for such a
/// message. A kind that is not listed may have any length.
///
/// The lengths are from the interface descriptions of protocols 13 to 34. Older protocols have shorter messages, and an
/// empty message is a request.
enum MessageLength {
  static func isPossible(ubx kind: UInt16, _ length: Int) -> Bool {
    switch kind {
    case UBXKind.navSAT, UBXKind.navSVINFO: isList(length, of: 12, behind: 8)
    case UBXKind.navSIG: isList(length, of: 16, behind: 8)
    case UBXKind.rxmRAWX: isList(length, of: 32, behind: 16)
    case UBXKind.rxmSFRBX, UBXKind.esfMEAS: isList(length, of: 4, behind: 8)
    case UBXKind.esfSTATUS: isList(length, of: 4, behind: 16)
    case UBXKind.monVER: isList(length, of: 30, behind: 40)
    case UBXKind.monRF: isList(length, of: 24, behind: 4)
    default: longest(ubx: kind).map { length <= $0 } ?? true
    }
  }

  static func isPossible(casic kind: UInt16, _ length: Int) -> Bool {
    switch kind {
    case CASICKind.navPV, CASICKind.navSTATUS: length <= 80
    case CASICKind.navTIMEUTC: length <= 24
    case CASICKind.navDOP: length <= 28
    case CASICKind.timTP: length <= 24
    case CASICKind.navGPSINFO, CASICKind.navBDSINFO, CASICKind.navGLNINFO: isList(length, of: 12, behind: 8)
    default: true
    }
  }

  private static func isList(_ length: Int, of size: Int, behind head: Int) -> Bool {
    length == 0 || length >= head && (length - head) % size == 0
  }

  private static func longest(ubx kind: UInt16) -> Int? {
    switch kind {
    case UBXKind.navEOE: 4
    case UBXKind.rxmRTCM: 8
    case UBXKind.navTIMEGPS, UBXKind.navSTATUS, UBXKind.timTP: 16
    case UBXKind.navDOP: 18
    case UBXKind.navTIMEUTC: 20
    case UBXKind.navPOSLLH: 28
    case UBXKind.navHPPOSLLH, UBXKind.navVELNED, UBXKind.esfINS: 36
    case UBXKind.navSOL: 52
    case UBXKind.navCOV: 64
    case UBXKind.monHW: 68
    case UBXKind.hnrPVT: 72
    case UBXKind.navPVT: 92
    default: nil
    }
  }
}
