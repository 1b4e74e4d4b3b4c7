/// The order in which messages are read.
public enum MCAPOrder: Sendable {
  /// By log time; messages with equal log times in file order.
  case logTime
  case file
}
