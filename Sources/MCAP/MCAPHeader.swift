/// The header at the start of a file.
public struct MCAPHeader: Equatable, Sendable {
  /// The conventions that the file follows, for example `ros2`; empty for none.
  public var profile: String
  /// The name of the program that wrote the file, only for display.
  public var library: String

  public init(profile: String = "", library: String = "") {
    self.profile = profile
    self.library = library
  }
}

extension MCAPHeader {
  init(_ fields: inout RecordReader) throws(MCAPError) {
    profile = try fields.text()
    library = try fields.text()
  }

  func append(to bytes: inout [UInt8]) {
    let start = bytes.beginRecord(Opcode.header)
    bytes.append(prefixed: profile)
    bytes.append(prefixed: library)
    bytes.endRecord(start)
  }
}
