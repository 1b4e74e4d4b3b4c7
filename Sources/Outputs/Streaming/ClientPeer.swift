import Hub
import Publishing

/// The other end of a client's connection: a process of this machine, or an address.
struct ClientPeer: Sendable {
  /// This connection's.
  let id: HolderID
  /// The same from visit to visit: `gpspipe`, `127.0.0.1`.
  let name: String
  /// The part that distinguishes this visit from others: `[812]`, `:40022`.
  let visit: String
  /// What stays of that with another name.
  private let process: String

  private init(_ name: String, visit: String = "", process: String = "", id: HolderID = HolderID()) {
    (self.id, self.name, self.visit, self.process) = (id, name, visit, process)
  }

  /// - Parameter name: in a form in which it is shown
  init(process number: Int32, called name: String) { self.init(name, visit: "[\(number)]", process: "[\(number)]") }

  /// - Parameter host: in brackets if it is an IPv6 address
  init(host: String, port: Int) { self.init(host, visit: ":\(port)") }

  init(_ address: TCPAddress) { self.init(host: address.host, port: Int(address.port)) }

  /// A client of which only the output is known: `http`.
  init(by way: String) { self.init(way) }

  /// With its chosen name, followed by its process; `nil` if nothing remains of the name.
  func called(_ name: String) -> ClientPeer? {
    ClientName.shown(name).map { ClientPeer($0, visit: process, process: process, id: id) }
  }

  /// Its name as a holder: `gpsd 127.0.0.1:40022`, for which `gpsd 127.0.0.1` pays, whatever the port.
  ///
  /// - Parameter service: comes before its name
  func holder(_ service: String? = nil) -> Holder {
    let service = service.map { "\($0) " } ?? ""
    return Holder("\(service)\(self)", id: id, payer: Payer("\(service)\(name)"))
  }
}

/// `gpspipe[812]`, `127.0.0.1:40022`.
extension ClientPeer: CustomStringConvertible {
  var description: String { name + visit }
}
