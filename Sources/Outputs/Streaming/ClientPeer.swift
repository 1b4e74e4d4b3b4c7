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
