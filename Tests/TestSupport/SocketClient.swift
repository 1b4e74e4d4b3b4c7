import CLinux
import Glibc
import Guarding

/// A client of one of the hub's sockets. It reads everything that arrives on its own thread.
public final class SocketClient: Sendable {
  /// The state that the client shares with its thread, which may outlive it.
  private final class Shared: Sendable {
    let descriptor: Int32
    let arrived = ArrivingBytes()

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    func read() {
      var chunk = [UInt8](repeating: 0, count: 16384)
      while case let count = recv(descriptor, &chunk, chunk.count, 0), count > 0 {
        arrived.append(Array(chunk[..<count]))
      }
      arrived.end { close(descriptor) }
    }
  }

  private let shared: Shared

  /// Connects to a Unix socket.
  /// - Parameter isNamed: whether the client's socket is bound to a name first, which tells the hub that a request
  ///   follows
  public convenience init(path: String, isNamed: Bool = false) {
    self.init(SocketClient.connect(path: path, isNamed: isNamed))
  }

  /// Connects to a port of this machine.
  public convenience init(port: UInt16) { self.init(SocketClient.connect(port: port)) }

  /// Wraps an accepted connection.
  convenience init(accepted descriptor: Int32) { self.init(descriptor) }

  private init(_ descriptor: Int32) {
    let shared = Shared(descriptor)
    self.shared = shared
    // Reads until the other end, or `leave`, closes.
    let error = DetachedThread.start("subscriber") { shared.read() }
    precondition(error == 0)
  }

  deinit { leave() }

  /// Disconnects: wakes the thread, which closes the descriptor.
  public func leave() { _ = shared.arrived.whileOpen { shutdown(shared.descriptor, Int32(SHUT_RDWR)) } }

  /// Ends the sending direction; received bytes are still read.
  public func finish() { _ = shared.arrived.whileOpen { shutdown(shared.descriptor, Int32(SHUT_WR)) } }

  /// Sends everything, however long the other end takes to read it. Stops if the other end closes, or at the deadline
  /// of `eventually`.
  public func send(_ bytes: [UInt8]) {
    var rest = bytes[...]
    _ = eventually {
      rest = rest.dropFirst(max(write(rest), 0))
      return rest.isEmpty || !isOpen
    }
  }

  public func send(_ text: String) { send(Array(text.utf8)) }

  /// Sends the bytes that the other end accepts at once. The rest is lost.
  public func sendNow(_ bytes: [UInt8]) { _ = write(bytes[...]) }

  /// Returns the number of accepted bytes, or a negative number.
  private func write(_ bytes: ArraySlice<UInt8>) -> Int {
    shared.arrived.whileOpen {
      bytes.withUnsafeBytes { clinux_send_now(shared.descriptor, $0.baseAddress, $0.count) }
    } ?? -1
  }

  /// Whether the other end has not closed the connection.
  public var isOpen: Bool { shared.arrived.isOpen }
  public var bytes: [UInt8] { shared.arrived.bytes }
  public var text: String { shared.arrived.text }
  public var lineCount: Int { shared.arrived.lineCount }
  public func has(_ text: String) -> Bool { shared.arrived.has(text) }
  public func forget() { shared.arrived.forget() }

  /// Waits until `text` has arrived. Returns false if the other end closes first.
  public func receives(_ text: String) -> Bool { shared.arrived.waits(for: text) }

  /// Waits until the received text meets a condition, which is checked again after each arrival. Returns false if the
  /// other end closes first.
  public func receives(_ isMet: (_ text: String) -> Bool) -> Bool { shared.arrived.waits { isMet(text) } }

  /// Waits until at least `count` lines have arrived. Returns false if the other end closes first.
  public func receives(lineCount count: Int) -> Bool { shared.arrived.waits(forLines: count) }

  /// Waits until the other end has closed. Returns false after the limit of a test.
  public func waitsForEnd() -> Bool { shared.arrived.waitsForEnd() }

  /// Makes a stream socket that programs of other tests do not inherit. An inherited copy would keep the connection
  /// open.
  private static func makeSocket(_ family: Int32) -> Int32 {
    socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
  }

  /// Connects without reading.
  public static func connect(path: String, isNamed: Bool = false) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    return connect(AF_UNIX, &address, path, isNamed: isNamed)
  }

  /// Connects without reading.
  /// - Parameter source: the address of this machine from which the client connects, as if from another machine
  public static func connect(port: UInt16, from source: [UInt8]? = nil) -> Int32 {
    var address = SocketClient.loopback(port)
    return connect(AF_INET, &address, "port \(port)", from: source)
  }

  /// Waits until a server listens, because the hub opens its ports one after another.
  private static func connect<Address>(
    _ family: Int32, _ address: inout Address, _ name: String, isNamed: Bool = false, from source: [UInt8]? = nil
  ) -> Int32 {
    var descriptor: Int32 = -1
    var error: Int32 = 0
    let isConnected = eventually {
      descriptor = makeSocket(family)
      if isNamed {
        // The address has only a family, so that the kernel chooses a name.
        var own = sockaddr()
        own.sa_family = sa_family_t(family)
        precondition(bind(descriptor, &own, socklen_t(MemoryLayout<sa_family_t>.size)) == 0)
      }
      if let source { precondition(clinux_bind_tcp(descriptor, source, 4, 0) == 0, "cannot connect from \(source)") }
      let result = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
        }
      }
      if result == 0 { return true }
      error = errno
      close(descriptor)
      return false
    }
    precondition(isConnected, "cannot connect to \(name): \(String(cString: strerror(error)))")
    return descriptor
  }

  private static func loopback(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return address
  }

  /// Whether a program has this port of IPv4. A program that is too busy to accept further clients has it too.
  public static func isListening(_ port: UInt16) -> Bool {
    let descriptor = makeSocket(AF_INET)
    defer { close(descriptor) }
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    var address = loopback(port)
    _ = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    // The kernel answers at once if no program has the port, and does not answer while the program's queue is full.
    guard poll(&wait, 1, 1000) > 0 else { return true }
    var (error, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
    return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0
  }

  /// An unused port, returned only once. It is outside the range that the kernel gives to clients, because the other
  /// tests have thousands of clients.
  public static func freePort() -> UInt16 {
    nextPort.withLock { next in
      while true {
        next = next == lastPort ? firstPort : next + 1
        if isFree(next) { return next }
      }
    }
  }

  private static let firstPort: UInt16 = 12_000
  private static let lastPort: UInt16 = 31_999
  // The first port depends on the process, so that another test run probably starts elsewhere.
  private static let nextPort = Guarded(firstPort + UInt16(getpid() % 200) * 100)

  private static func isFree(_ port: UInt16) -> Bool {
    let descriptor = makeSocket(AF_INET)
    defer { close(descriptor) }
    // Between fork and exec a program of another test has this socket too. It must not keep the port from the hub.
    var isShared: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isShared, socklen_t(MemoryLayout<Int32>.size))
    var address = loopback(port)
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }
}
