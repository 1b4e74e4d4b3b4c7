/// How names of simulated ports and buses look, in board files and in recordings of simulated boards.
public enum SimulatedName {
  /// The prefix of these names.
  public static let prefix = "simulated/"

  public static func isSimulated(_ name: String) -> Bool { name.hasPrefix(prefix) }
}
