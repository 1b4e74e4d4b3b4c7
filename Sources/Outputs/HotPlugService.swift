import CSystemd
import Glibc
import Guarding
import HardwareIO
import Hub
import Publishing
import ServiceLifecycle

/// Detects that a device of the board is plugged in. The device's reader then tries again at once, instead of after its
/// pause.
///
/// A thread sleeps until udev reports a tty or an I2C bus. This service powers and wakes no device.
public final class HotPlugService: Service {
  private let host: HubHost
  private let sink: JournalSink

  public init(host: HubHost, sink: JournalSink) {
    self.host = host
    self.sink = sink
  }

  public func run() async throws {
    let stop = StopSignal()
    let error = DetachedThread.start("hot-plug") { [self] in
      let result = csystemd_watch_ports_and_buses(
        stop.fileDescriptor,
        { context, name in
          // The context is the service. The thread keeps the service alive as long as this function can be called.
          guard let context, let name else { return }
          Unmanaged<HotPlugService>.fromOpaque(context).takeUnretainedValue().appeared(String(cString: name))
        }, Unmanaged.passUnretained(self).toOpaque())
      if result < 0 {
        sink.write(
          .info,
          "cannot watch for plugged-in devices, so the hub finds them only at its next attempt: \(String(cString: strerror(-result)))"
        )
      }
    }
    if error != 0 { sink.write(.warning, "cannot start a thread to watch for plugged-in devices") }
    await untilShutdown()
    stop.set()
  }

  private func appeared(_ name: String) {
    let hub = host.hub
    for device in hub.board.devices where HotPlugService.isSame(device.path, name) {
      let id = device.id
      sink.write(
        .notice, "\(id): plugged in (\(name))",
        fields: [.init("SENSORHUB_DEVICE", id), .init("SENSORHUB_EVENT", "plugged")])
      hub.hasAppeared(device)
    }
  }

  /// Whether the board's path leads to this name. udev reports a device under its name and under each of its links. So
  /// that a device is not reported twice, a path that is a link matches only the name of its device.
  static func isSame(_ path: String, _ name: String) -> Bool {
    Files.resolved(path).map { $0 == name } ?? (path == name)
  }
}
