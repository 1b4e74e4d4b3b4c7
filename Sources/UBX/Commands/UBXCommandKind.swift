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
