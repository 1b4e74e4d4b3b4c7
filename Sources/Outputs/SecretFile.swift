import Glibc
import HardwareIO

/// A secret that lives in a file, so that it is in no list of processes and in no history, or in a credential of systemd's.
enum SecretFile {
  struct Failure: Error {
    var file: String
    var reason: String
  }

  /// Reads what is in the file, or in the credential where no file is named, without the blanks around it; `nil` where there is
  /// neither.
  static func read(_ file: String?, orCredential name: String) throws(Failure) -> (file: String, secret: [UInt8])? {
    let credential = getenv("CREDENTIALS_DIRECTORY").map { "\(String(cString: $0))/\(name)" }
    guard let path = file ?? credential.flatMap({ access($0, F_OK) == 0 ? $0 : nil }) else { return nil }
    do throws(Files.Errno) {
      let blanks = " \t\r\n".utf8
      let content = try Files.bytes(of: path, limit: 4096)
      return (path, content.drop { blanks.contains($0) }.reversed().drop { blanks.contains($0) }.reversed())
    } catch {
      throw Failure(file: path, reason: "\(error)")
    }
  }
}
