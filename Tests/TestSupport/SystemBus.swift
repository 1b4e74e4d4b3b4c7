/// A system bus (D-Bus) of a test's own, on which every program may do everything. It ends when this value is released.
public final class SystemBus: Sendable {
  /// The variable that makes a program use this bus.
  public let environment: [String]
  private let folder: TemporaryFolder
  private let daemon: Program

  public init() {
    folder = TemporaryFolder("bus")
    let (socket, file) = ("unix:path=\(folder.path)/bus", folder.path + "/bus.conf")
    environment = ["DBUS_SYSTEM_BUS_ADDRESS=\(socket)"]
    HubProcess.write(
      """
      <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
        "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
      <busconfig>
        <listen>\(socket)</listen>
        <auth>EXTERNAL</auth>
        <policy context="default">
          <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/><allow user="*"/>
        </policy>
      </busconfig>

      """, to: file)
    daemon = Program(["--config-file=\(file)", "--nofork", "--print-address"], path: "/usr/bin/dbus-daemon")
    // A program that starts earlier would find no bus.
    _ = daemon.prints("unix:path=")
  }
}
