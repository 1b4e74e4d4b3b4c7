import HardwareIO
import Hub
import Publishing

/// The other end of a client's connection: a process of this machine, or an address.
struct ClientPeer: Sendable {
  /// Identifies this connection.
  let id: HolderID
  /// The part of the description that is the same for each connection of a client: `gpspipe`, `127.0.0.1`.
  let name: String
  /// The part of the description that distinguishes this connection: `[812]`, `:40022`.
  let visit: String
  /// The part of `visit` that stays when the client chooses a name: its process; empty for an address.
  private let process: String

  private init(_ name: String, visit: String = "", process: String = "", id: HolderID = HolderID()) {
    (self.id, self.name, self.visit, self.process) = (id, name, visit, process)
  }

  /// - Parameter name: the name as it is shown
  init(process number: Int32, called name: String) { self.init(name, visit: "[\(number)]", process: "[\(number)]") }

  /// - Parameter host: the host, in brackets if it is an IPv6 address
  init(host: String, port: Int) { self.init(host, visit: ":\(port)") }

  init(_ address: TCPAddress) { self.init(host: address.host, port: Int(address.port)) }

  /// A client whose address is unknown, named after its output, for example `http`.
  init(by way: String) { self.init(way) }

  /// The same connection under the name that the client has chosen; `nil` if no character of the name can be shown.
  func called(_ name: String) -> ClientPeer? {
    ClientName.shown(name).map { ClientPeer($0, visit: process, process: process, id: id) }
  }

  /// The client as a holder, for example `gpsd 127.0.0.1:40022`. Its energy is counted for `gpsd 127.0.0.1`, whatever
  /// the port.
  ///
  /// - Parameter service: the word before the name
  func holder(_ service: String? = nil) -> Holder {
    let service = service.map { "\($0) " } ?? ""
    return Holder("\(service)\(self)", id: id, payer: Payer("\(service)\(name)"))
  }
}

/// The description, for example `gpspipe[812]` or `127.0.0.1:40022`.
extension ClientPeer: CustomStringConvertible {
  var description: String { name + visit }
}

/// The form in which a client's name is shown. The client has chosen the name, or it is that of the client's process.
/// It cannot be mistaken for one of the hub's own names.
///
/// The hub's own names for holders contain a blank (`gpsd 127.0.0.1:40022`, `held for 127.0.0.1`) or have no number
/// after them (`journal`). A client's name is followed by the number of its process. Where the energy per client is
/// counted, the numbers are left out. The name is therefore in quotes if it has more than one word, or equals one of
/// the hub's own names.
enum ClientName {
  /// The maximum length of a name in bytes as it is shown, including quotes.
  static let byteLimit = 40

  /// The names under which the hub itself holds devices.
  private static let own: Set = [
    "chrony", "clock", "epochs", "fixes", "journal", "mqtt", "recorder", "reload", "replay", "sentences", "state",
  ]

  /// The name as it is shown: at most `byteLimit` bytes, cut between characters, with control and invisible characters
  /// escaped; `nil` if nothing remains.
  static func shown(_ name: String) -> String? {
    let isWord = name.unicodeScalars.allSatisfy(isPlain) && !own.contains(name)
    var room = byteLimit - (isWord ? 0 : 2)
    var shown = ""
    for character in name {
      let text = character.unicodeScalars.reduce(into: "") { text, scalar in
        text += scalar == "\"" || scalar == "\\" ? "\\\(scalar)" : Text.printable(scalar)
      }
      room -= text.utf8.count
      if room < 0 { break }
      shown += text
    }
    if shown.isEmpty { return nil }
    return isWord ? shown : "\"\(shown)\""
  }

  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber: true
    default: "-_.+@/".unicodeScalars.contains(scalar)
    }
  }
}

/// Finds the account at the other end of a TCP connection, if the client is on this machine. The kernel's table of
/// sockets contains the account.
enum LocalTCPUser {
  /// The longest table that is read, in bytes. It is enough for every connection that a board can have.
  private static let mostBytes = 32 << 20

  /// Finds the user of the program at the other end.
  ///
  /// - Parameters:
  ///   - client: the address of the other end
  ///   - server: the address of this end
  /// - Returns: the user's number; `nil` for another machine, or if the table does not contain the connection
  static func find(of client: TCPAddress, to server: TCPAddress) -> UInt32? {
    // The kernel shows a closing socket as root's. A result therefore counts only if a second look-up agrees.
    guard let first = look(client, server), look(client, server) == first else { return nil }
    return first
  }

  private static func look(_ client: TCPAddress, _ server: TCPAddress) -> UInt32? {
    var users: Set<UInt32> = []
    for name in ["tcp", "tcp6"] {
      // Use this process's own folder, because the service's sandbox shows nothing else in /proc.
      guard let table = try? Files.bytes(of: "/proc/self/net/\(name)", limit: mostBytes) else { continue }
      users.formUnion(LocalTCPUser.users(in: table, of: client, to: server, isIPv6: name == "tcp6"))
    }
    return users.count == 1 ? users.first : nil
  }

  /// The users of a table's open connections between two addresses.
  ///
  /// - Parameter table: the contents of `/proc/net/tcp` (proc(5))
  static func users(in table: [UInt8], of client: TCPAddress, to server: TCPAddress, isIPv6: Bool) -> [UInt32] {
    let ends = [client, server].map { text($0, isIPv6: isIPv6) }
    guard let from = ends[0], let to = ends[1] else { return [] }
    // `01` is ESTABLISHED. In another state a socket may have lost its process, and would be shown as root's.
    let wanted = Array("\(from) \(to) 01 ".utf8)
    return table.split(separator: UInt8(ascii: "\n")).compactMap { line in
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
      let row = line[(colon + 1)...].drop { $0 == UInt8(ascii: " ") }
      guard row.starts(with: wanted) else { return nil }
      let fields = row.split(separator: UInt8(ascii: " "))
      return fields.count > 6 ? UInt32(String(decoding: fields[6], as: UTF8.self)) : nil
    }
  }

  /// An address in the table's form, in which each group of 32 bits is a number in the processor's byte order; `nil`
  /// if the address belongs in the other table.
  private static func text(_ end: TCPAddress, isIPv6: Bool) -> String? {
    var bytes = end.address.bytes
    // A socket for both IPv4 and IPv6 shows an IPv4 address as an IPv4-mapped one.
    if isIPv6, bytes.count == 4 { bytes = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + bytes }
    guard bytes.count == (isIPv6 ? 16 : 4) else { return nil }
    var text = ""
    for start in stride(from: 0, to: bytes.count, by: 4) {
      let word = bytes[start..<start + 4].withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
      text += padded(word, 8)
    }
    return "\(text):\(padded(UInt32(end.port), 4))"
  }

  private static func padded(_ number: UInt32, _ count: Int) -> String {
    let digits = String(number, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, count - digits.count)) + digits
  }
}
