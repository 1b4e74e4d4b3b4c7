/// A server on this machine that accepts TLS connections, and passes their content on to a plain server on this machine.
public final class TLSFront: Sendable {
  public let port: UInt16
  private let program: Program

  /// - Parameters:
  ///   - identity: the certificate that it shows
  ///   - target: the port of the plain server
  public init(_ identity: TestAuthority.Identity, to target: UInt16) {
    let arguments = ["-c", TLSFront.script, identity.certificateFile, identity.keyFile, "\(target)"]
    program = Program(arguments, path: "/usr/bin/python3")
    _ = program.prints("\n")
    guard let port = program.lines.first.flatMap({ UInt16($0) }) else {
      preconditionFailure("the TLS server did not start: \(program.standardError)")
    }
    self.port = port
  }

  private static let script = """
    import select, socket, ssl, sys, threading

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)

    def relay(client, server):
        with client, server:
            try:
                while True:
                    ready = [client] if client.pending() else select.select([client, server], [], [])[0]
                    for end in ready:
                        data = end.recv(4096)
                        if not data:
                            return
                        (server if end is client else client).sendall(data)
            except OSError:
                pass

    def serve(client):
        try:
            client = context.wrap_socket(client, server_side=True)
        except OSError:
            return
        relay(client, socket.create_connection(("127.0.0.1", int(sys.argv[3]))))

    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
    """
}

/// A certificate authority that openssl makes for a test.
public final class TestAuthority: Sendable {
  /// A certificate and its key.
  public struct Identity: Sendable {
    public let certificateFile: String
    public let keyFile: String
  }

  private let folder = TemporaryFolder("authority")

  public init() {
    TestAuthority.openssl(
      ["req", "-x509"] + TestAuthority.newKey
        + ["-keyout", "\(folder.path)/ca.key", "-out", file, "-subj", "/CN=a test", "-days", "2"])
  }

  /// The file with the authority's own certificate.
  public var file: String { "\(folder.path)/ca.crt" }

  /// Makes a certificate that this authority has signed.
  ///
  /// - Parameters:
  ///   - name: the name of its files
  ///   - subjects: the names and addresses that it is for, such as `DNS:localhost,IP:127.0.0.1`
  ///   - start: the first instant of its validity, such as `20200131000000Z`
  public func certificate(
    _ name: String, for subjects: String, from start: String = "20200101000000Z", until end: String = "20400101000000Z"
  ) -> Identity {
    let path = "\(folder.path)/\(name)"
    TestAuthority.openssl(
      ["req", "-new"] + TestAuthority.newKey
        + ["-keyout", "\(path).key", "-out", "\(path).csr", "-subj", "/CN=\(name)"])
    // Only `openssl ca` of older versions accepts a start and an end.
    HubProcess.write(
      """
      [ca]
      default_ca = settings
      [settings]
      database = \(path).index
      new_certs_dir = \(folder.path)
      rand_serial = yes
      default_md = sha256
      policy = policy
      x509_extensions = extensions
      [policy]
      commonName = supplied
      [extensions]
      subjectAltName = \(subjects)
      basicConstraints = critical, CA:FALSE

      """, to: "\(path).cnf")
    HubProcess.write("", to: "\(path).index")
    TestAuthority.openssl([
      "ca", "-batch", "-notext", "-config", "\(path).cnf", "-cert", file, "-keyfile", "\(folder.path)/ca.key",
      "-in", "\(path).csr", "-out", "\(path).crt", "-startdate", start, "-enddate", end,
    ])
    return Identity(certificateFile: "\(path).crt", keyFile: "\(path).key")
  }

  /// Makes a certificate that is signed by itself.
  public func selfSigned(for subjects: String) -> Identity {
    let path = "\(folder.path)/self-signed"
    TestAuthority.openssl(
      ["req", "-x509"] + TestAuthority.newKey
        + ["-keyout", "\(path).key", "-out", "\(path).crt", "-subj", "/CN=itself", "-days", "2"]
        + ["-addext", "subjectAltName=\(subjects)"])
    return Identity(certificateFile: "\(path).crt", keyFile: "\(path).key")
  }

  private static let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]

  private static func openssl(_ arguments: [String]) {
    let program = Program(arguments, path: "/usr/bin/openssl")
    precondition(program.wait() == 0, "openssl \(arguments): \(program.standardError)")
  }
}
