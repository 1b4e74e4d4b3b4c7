/// The order in which messages are read.
public enum MCAPOrder: Sendable {
  /// By log time; messages of the same time as they are in the file.
  case logTime
  case file
}
