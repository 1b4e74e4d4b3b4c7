import CMosquitto

/// The reason why a client of a broker cannot be made.
public enum MQTTError: Error, Equatable, CustomStringConvertible {
  case missingLibrary
  case noThread(reason: String)

  /// Whether libmosquitto is missing.
  public static var isLibraryMissing: Bool { !cmosquitto_is_available() }

  public var description: String {
    switch self {
    case .missingLibrary: "libmosquitto, the library for MQTT, is not installed: sudo apt-get install libmosquitto1"
    case .noThread(let reason): "cannot start a thread for the connection: \(reason)"
    }
  }
}
