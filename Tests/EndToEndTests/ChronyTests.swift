import FoundationEssentials
import Glibc
import HardwareIO
import TestSupport
import Testing

/// The time that Debian's chronyd receives. chronyd may not change this machine's clock.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ChronyTests {
  private let temporary = TemporaryFolder("chrony")
  private var folder: String { temporary.path }

  @Test func `chronyd gets the receiver's time, and the receiver is awake as long as chronyd reads it`() throws {
    let chronyd = try #require(TestTools.path("chronyd"), "run .ci/test-tools")
    let socket = folder + "/gps.sock"
    let configuration = """
      refclock SOCK \(socket) refid GPS poll 0 filter 1 noselect
      logdir \(folder)
      log refclocks
      pidfile \(folder)/pid
      bindcmdaddress /
      cmdport 0
      port 0
      user \(String(cString: getpwuid(getuid()).pointee.pw_name))
      """
    HubProcess.write(configuration, to: folder + "/chrony.conf")
    let hub = HubProcess(board: HubProcess.simulatedBoard("chrony: { socket: \"\(socket)\" }"))
    // The hub started first: it reports the missing socket, and continues.
    #expect(
      hub.logs("refclock SOCK \(socket)"), "\(hub.program.standardError)")
    let daemon = Program(["-x", "-U", "-d", "-f", folder + "/chrony.conf"], path: chronyd)
    #expect(hub.logs("chronyd accepts the time"), "\(daemon.standardError)")
    #expect(eventually { offsets.count > 20 }, "\(daemon.standardError)")
    // The simulated receiver has the time of this machine. On a busy machine epochs may be late, but not all of them.
    let least = offsets.map(abs).min()
    #expect(least.map { $0 < 0.1 } == true, "\(String(describing: least))")
    #expect(hub.devicesNow["gps"].holders == ["chrony"])
    #expect(hub.devicesNow["imu"].wakes == 0)
    HubProcess.write(HubProcess.simulatedBoard(""), to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
    daemon.send(SIGTERM)
    daemon.wait()
  }

  /// The seconds by which the system clock is off, as chronyd has logged them.
  private var offsets: [Double] {
    let log = (try? Files.bytes(of: folder + "/refclocks.log")) ?? []
    return String(decoding: log, as: UTF8.self).split(separator: "\n").compactMap { line in
      let columns = line.split(separator: " ")
      return columns.count == 9 && columns[2] == "GPS" ? Double(columns[6]) : nil
    }
  }
}
