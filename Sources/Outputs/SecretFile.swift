import CLinux
import Glibc
import HardwareIO
import Hub

/// Reads a secret from a systemd credential or from a file, so that neither the list of processes nor a shell's history
/// shows it.
public enum SecretFile {
  struct Failure: Error {
    var file: String
    var reason: String
  }

  /// The folders in which a board file may name passwords. The hub sends passwords to other machines, so a user's board
  /// file must not be able to name every file that the hub can read.
  private static let folders = ["/etc/sensorhub/", "/run/credentials/sensorhub.service/"]

  private static var credentials: String? {
    getenv("CREDENTIALS_DIRECTORY").map { "\(String(cString: $0))/" }
  }

  /// The reason why a board file may not use this file for a password; `nil` if it may.
  static func refusal(ofBoards file: String) -> String? {
    let allowed = folders + [credentials].compactMap { $0 }
    let parts = file.utf8.split(separator: UInt8(ascii: "/"))
    let isBelow = allowed.contains { $0.utf8.first == UInt8(ascii: "/") && file.utf8.starts(with: $0.utf8) }
    if isBelow, !parts.contains(where: { $0.elementsEqual("..".utf8) }) { return nil }
    return
      "a board file may name passwords only in /etc/sensorhub or in systemd's credentials: move the file there, or without the "
      + "service set CREDENTIALS_DIRECTORY to its folder"
  }

  /// Reads the file, or the credential if no file is named, and removes leading and trailing blanks. `nil` if no file
  /// is named and there is no credential.
  static func read(_ file: String?, orCredential name: String) throws(Failure) -> (file: String, secret: [UInt8])? {
    let credential = credentials.map { "\($0)\(name)" }
    guard let path = file ?? credential.flatMap({ access($0, F_OK) == 0 ? $0 : nil }) else { return nil }
    var status = stat()
    let content: [UInt8]
    do throws(Files.Errno) {
      // Only a pipe that this process has inherited is accepted, as a shell makes for <(…). Reading any other pipe
      // could wait for a writer for ever.
      let isOwn = isDescriptor(path)
      content =
        isOwn
        ? try Files.bytes(of: path, limit: 4096) : try Files.bytes(ofRegular: path, limit: 4096, status: &status)
    } catch {
      throw Failure(file: path, reason: "\(error)")
    }
    guard status.st_mode & S_IWOTH == 0 else {
      throw Failure(file: path, reason: "every user may change it: sudo chmod o-w \(ShellText.word(path))")
    }
    let blanks = " \t\r\n".utf8
    let secret = content.drop { blanks.contains($0) }.reversed().drop { blanks.contains($0) }.reversed()
    // A private key or a list of accounts must not be sent, even if the board file names it as a password.
    guard secret.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
      throw Failure(file: path, reason: "the file has more than one line, so it is not a password")
    }
    return (path, Array(secret))
  }

  /// Whether a path is one of this process's own descriptors. A path such as `/dev/fd/../x` is not.
  private static func isDescriptor(_ path: String) -> Bool {
    let folder = "/dev/fd/"
    guard path.hasPrefix(folder) else { return false }
    let digits = path.utf8.dropFirst(folder.utf8.count)
    return !digits.isEmpty && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }

  /// The warnings for tokens and passwords of a board that every user of this machine can read.
  public static func warnings(of board: Board) -> [String] {
    BoardProblems.secrets(of: board).compactMap { key, file in
      warning(of: file).map { "'\(key)': \($0)" }
    }
  }

  static func warning(of file: String) -> String? {
    var status = stat()
    guard stat(file, &status) == 0, status.st_mode & S_IROTH != 0 else { return nil }
    return "every user here can read \(file): sudo chmod o-r \(ShellText.word(file)), for a service with its "
      + "group sensorhub"
  }
}
