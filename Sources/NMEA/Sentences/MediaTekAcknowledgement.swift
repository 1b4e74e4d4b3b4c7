/// PMTK001: a MediaTek receiver's answer to a command.
public struct MediaTekAcknowledgement: Equatable, Sendable {
  /// The number of the command.
  public var command: Int
  public var result: Result

  public enum Result: Int, Sendable {
    case invalidCommand = 0
    case unsupportedCommand = 1
    case failed = 2
    case succeeded = 3
  }

  init?(_ fields: inout FieldReader) {
    guard let command = fields.integer(), let result = fields.integer().flatMap(Result.init) else { return nil }
    self.command = command
    self.result = result
  }
}
