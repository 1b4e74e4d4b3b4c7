import Glibc
import HardwareIO
import Hub

/// The reason why a hub cannot use its broker, known before the first connection.
public enum FleetError: Error, Equatable, CustomStringConvertible {
  case noName
  case noPassword
  case unreadable(key: String, file: String, reason: String)

  public var description: String {
    switch self {
    case .noName: "this machine has no /etc/machine-id, so the hub has no name: set 'mqtt.hub' in the board file"
    case .noPassword:
      "'mqtt.username' has no password: set 'mqtt.passwordFile' to its file, or give systemd's credential 'mqtt-password'"
    case .unreadable(let key, let file, let reason): "'mqtt.\(key)' cannot be read from \(file): \(reason)"
    }
  }

  /// Checks the files that the settings name.
  ///
  /// - Parameter isElsewhere: whether the check runs outside the service, where systemd's credentials do not exist
  /// - Returns: the first error; `nil` if the settings can be used
  public static func find(for settings: FleetSettings, isElsewhere: Bool = false) -> FleetError? {
    let files = [
      ("caFile", settings.caFile), ("certificateFile", settings.certificateFile), ("keyFile", settings.keyFile),
    ]
    for (key, file) in files {
      guard let file, access(file, R_OK) != 0 else { continue }
      return .unreadable(key: key, file: file, reason: String(cString: strerror(errno)))
    }
    if isElsewhere, settings.passwordFile == nil { return nil }
    if settings.isOfBoardFile, let file = settings.passwordFile, let reason = SecretFile.refusal(ofBoards: file) {
      return .unreadable(key: "passwordFile", file: file, reason: reason)
    }
    do throws(FleetError) {
      _ = try password(of: settings.username, in: settings.passwordFile)
      return nil
    } catch {
      return error
    }
  }

  /// - Returns: the password; `nil` if none is needed
  static func password(of username: String?, in file: String?) throws(FleetError) -> String? {
    guard username != nil else { return nil }
    let found: (file: String, secret: [UInt8])?
    do throws(SecretFile.Failure) {
      found = try SecretFile.read(file, orCredential: "mqtt-password")
    } catch {
      throw .unreadable(key: "passwordFile", file: error.file, reason: error.reason)
    }
    guard let found else { throw .noPassword }
    return String(decoding: found.secret, as: UTF8.self)
  }
}

extension MQTTOptions {
  /// The connection options that follow from the settings.
  public init(_ settings: FleetSettings, identifier: String, subscriptions: [String]) throws(FleetError) {
    if let error = FleetError.find(for: settings) { throw error }
    self.init(broker: settings.broker, identifier: identifier, subscriptions: subscriptions)
    username = settings.username
    passwordFile = settings.passwordFile
    caFile = settings.caFile
    certificateFile = settings.certificateFile
    keyFile = settings.keyFile
  }
}
