import CLinux
import Glibc
import Guarding
import Hub
import MonotonicTime
import Publishing
import ServiceLifecycle

/// Serves both Unix sockets on one thread, which sleeps until somebody connects, asks or leaves.
public final class SocketOutput: Service {
  private static let clientLimit = 256

  private let host: HubHost
  private let path: SocketPath
  private let stateListener: Int32
  private let devicesListener: Int32
  private let stop = StopSignal()
  /// Makes the thread look at its clients again.
  private let wake = WakeSignal()
  private let hasEnded = MutableProperty(false)
  private let reserve = Guarded(open("/dev/null", O_RDONLY | O_CLOEXEC))

  /// Starts listening, so that an error is known before anything else starts.
  public init(host: HubHost, path: SocketPath) throws(SocketError) {
    self.host = host
    self.path = path
    // The state's last: who sees it finds both.
    let devices = try UnixSocket.listen(path.devices)
    do throws(SocketError) {
      stateListener = try UnixSocket.listen(path.state)
    } catch {
      close(devices)
      unlink(path.devices)
      throw error
    }
    devicesListener = devices
  }

  public func run() async throws {
    let error = DetachedThread.start("sockets") { [self] in
      serve()
      hasEnded.value = true
    }
    guard error == 0 else { throw SocketError.system(path: path.state, doing: "starting a thread for", errno: error) }
    try? await gracefulShutdown()
    stop.set()
    // In a task of its own: the sockets have to be closed and gone even if this one is cancelled.
    await Task { [hasEnded] in for await ended in hasEnded.readOnly.values(as: "sockets") where ended { break } }.value
  }

  private func serve() {
    var clients: [StreamClient] = []
    defer {
      for client in clients { client.close() }
      close(stateListener)
      close(devicesListener)
      reserve.withLock { _ = close($0) }
      unlink(path.state)
      unlink(path.devices)
    }
    let fixedCount = 4
    while true {
      var descriptors = [stop.fileDescriptor, wake.fileDescriptor, stateListener, devicesListener].map {
        pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
      }
      for client in clients {
        let events = POLLIN | (client.hasOutput ? POLLOUT : 0)
        descriptors.append(pollfd(fd: client.descriptor, events: Int16(events), revents: 0))
      }
      guard poll(&descriptors, nfds_t(descriptors.count), -1) > 0 else { continue }
      if descriptors[0].revents != 0 { return }
      if descriptors[1].revents != 0 { wake.clear() }
      var open: [StreamClient] = []
      for (client, descriptor) in zip(clients, descriptors[fixedCount...]) {
        let events = Int32(descriptor.revents)
        var isGone = events & (POLLHUP | POLLERR) != 0
        if !isGone, events & POLLOUT != 0 { isGone = !client.writeWaiting() }
        if !isGone, events & POLLIN != 0 { isGone = !client.readRequests() }
        if isGone { client.close() } else { open.append(client) }
      }
      clients = open
      if descriptors[2].revents != 0, let client = acceptClient(clients.count) { clients.append(client) }
      if descriptors[3].revents != 0 { answerDevices() }
    }
  }

  private func acceptClient(_ count: Int) -> StreamClient? {
    guard let descriptor = accept(stateListener) else { return nil }
    guard count < SocketOutput.clientLimit else {
      close(descriptor)
      return nil
    }
    let client = StreamClient(descriptor: descriptor, host: host) { [wake] in wake.raise() }
    client.start()
    return client
  }

  /// One object, then the end: the status fits into any socket's buffer.
  private func answerDevices() {
    guard let descriptor = accept(devicesListener) else { return }
    defer { close(descriptor) }
    var json = JSONWriter()
    DevicesReport.write(host.hub.value.devices, at: MonotonicClock().now, to: &json)
    _ = clinux_send_now(descriptor, json.bytes.baseAddress, json.bytes.count)
  }

  /// Accepts a connection. With no descriptor left it is accepted in place of the reserve and refused: left waiting it
  /// would keep the thread awake.
  private func accept(_ listener: Int32) -> Int32? {
    let descriptor = clinux_accept(listener)
    if descriptor >= 0 { return descriptor }
    if errno == EMFILE || errno == ENFILE {
      reserve.withLock { reserve in
        close(reserve)
        close(clinux_accept(listener))
        reserve = open("/dev/null", O_RDONLY | O_CLOEXEC)
      }
    }
    return nil
  }
}
