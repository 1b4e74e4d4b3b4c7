/// The description of a channel's messages.
public struct MCAPSchema: Equatable, Sendable, Identifiable {
  /// The number of the schema, from 1. 0 means no schema.
  public var id: UInt16
  /// The name by which programs recognize the schema, for example `foxglove.LocationFix`.
  public var name: String
  /// The format of `data`: `jsonschema`, `protobuf`, ...; empty if there is no data.
  public var encoding: String
  public var data: [UInt8]

  public init(id: UInt16, name: String, encoding: String, data: [UInt8]) {
    self.id = id
    self.name = name
    self.encoding = encoding
    self.data = data
  }
}

extension MCAPSchema {
  init(_ fields: inout RecordReader, of bytes: [UInt8]) throws(MCAPError) {
    id = try fields.integer()
    name = try fields.text()
    encoding = try fields.text()
    data = Array(bytes[try fields.shortBytes()])
  }

  func append(to bytes: inout [UInt8]) {
    let start = bytes.beginRecord(Opcode.schema)
    bytes.append(littleEndian: id)
    bytes.append(prefixed: name)
    bytes.append(prefixed: encoding)
    bytes.append(littleEndian: UInt32(truncatingIfNeeded: data.count))
    bytes.append(contentsOf: data)
    bytes.endRecord(start)
  }
}
