/// The form of the names of simulated ports and buses, in board files and in recordings of simulated boards.
public enum SimulatedName {
  /// The prefix of such a name.
  public static let prefix = "simulated/"

  public static func isSimulated(_ name: String) -> Bool { name.hasPrefix(prefix) }
}
