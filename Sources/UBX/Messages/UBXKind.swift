/// The messages of u-blox's protocol, by class and identifier.
public enum UBXKind {
  public static let navPOSLLH: UInt16 = 0x0102
  public static let navSTATUS: UInt16 = 0x0103
  public static let navDOP: UInt16 = 0x0104
  public static let navSOL: UInt16 = 0x0106
  public static let navPVT: UInt16 = 0x0107
  public static let navVELNED: UInt16 = 0x0112
  public static let navHPPOSLLH: UInt16 = 0x0114
  public static let navTIMEGPS: UInt16 = 0x0120
  public static let navTIMEUTC: UInt16 = 0x0121
  public static let navSVINFO: UInt16 = 0x0130
  public static let navSAT: UInt16 = 0x0135
  public static let navCOV: UInt16 = 0x0136
  public static let navRELPOSNED: UInt16 = 0x013C
  public static let navSIG: UInt16 = 0x0143
  public static let navEOE: UInt16 = 0x0161
  public static let rxmSFRBX: UInt16 = 0x0213
  public static let rxmRAWX: UInt16 = 0x0215
  public static let rxmRTCM: UInt16 = 0x0232
  public static let monVER: UInt16 = 0x0A04
  public static let monHW: UInt16 = 0x0A09
  public static let monRF: UInt16 = 0x0A38
  public static let timTP: UInt16 = 0x0D01
  public static let esfMEAS: UInt16 = 0x1002
  public static let esfSTATUS: UInt16 = 0x1010
  public static let esfINS: UInt16 = 0x1015
  public static let secUNIQID: UInt16 = 0x2703
  public static let secSIG: UInt16 = 0x2709
  public static let hnrPVT: UInt16 = 0x2800
}

/// The messages of the CASIC protocol, by class and identifier.
public enum CASICKind {
  public static let navSTATUS: UInt16 = 0x0100
  public static let navDOP: UInt16 = 0x0101
  public static let navPV: UInt16 = 0x0103
  public static let navTIMEUTC: UInt16 = 0x0110
  public static let navGPSINFO: UInt16 = 0x0120
  public static let navBDSINFO: UInt16 = 0x0121
  public static let navGLNINFO: UInt16 = 0x0122
  public static let timTP: UInt16 = 0x0200
}

/// The messages that configure, query, assist, restart or put to sleep a receiver, and their acknowledgements, by class
/// and identifier.
public enum UBXCommandKind {
  public static let rxmPMREQ: UInt16 = 0x0241
  public static let ackNAK: UInt16 = 0x0500
  public static let ackACK: UInt16 = 0x0501
  public static let cfgPRT: UInt16 = 0x0600
  public static let cfgMSG: UInt16 = 0x0601
  public static let cfgRST: UInt16 = 0x0604
  public static let cfgRATE: UInt16 = 0x0608
  public static let cfgCFG: UInt16 = 0x0609
  public static let cfgRXM: UInt16 = 0x0611
  public static let cfgNAVX5: UInt16 = 0x0623
  public static let cfgNAV5: UInt16 = 0x0624
  public static let cfgGNSS: UInt16 = 0x063E
  public static let cfgPMS: UInt16 = 0x0686
  public static let cfgVALSET: UInt16 = 0x068A
  public static let cfgVALGET: UInt16 = 0x068B
  public static let updSOS: UInt16 = 0x0914
  public static let mgaINI: UInt16 = 0x1340
  public static let mgaACK: UInt16 = 0x1360
  public static let mgaDBD: UInt16 = 0x1380
}
