import Glibc
import TestSupport
import Testing

/// The folder for knowledge that outlives a run, for users without a HOME variable.
@Suite(.serialized, .timeLimit(.minutes(10)))
final class HomeTests {
  private let temporary = TemporaryFolder("home")
  private var folder: String { temporary.path }

  init() {
    HubProcess.write(HubProcess.simulatedBoard(""), to: "\(folder)/board.json5")
  }

  /// Runs the program as a user who may read the executable and whose environment has no home.
  private func program(_ arguments: [String], uid: Int) -> Program {
    let ordinary = [
      "--clear-groups", "--regid", "\(uid)", "--reuid", "\(uid)", "--inh-caps", "+dac_read_search", "--ambient-caps",
      "+dac_read_search",
    ]
    let homeless = ["/usr/bin/env", "-u", "HOME", "-u", "XDG_STATE_HOME", "-u", "STATE_DIRECTORY"]
    return Program(ordinary + homeless + [Program.sensorhub] + arguments, path: "/usr/bin/setpriv")
  }

  /// The log of a hub from its start to its end.
  private func wordsOfHub(uid: Int) -> String {
    // A hub has its sockets in its own folder.
    chown(folder, UInt32(uid), UInt32(uid))
    let hub = program(["run", "--socket", "\(folder)/hub.sock", "--board", "\(folder)/board.json5"], uid: uid)
    #expect(hub.logs("state on"), "\(hub.standardError)")
    hub.send(SIGTERM)
    #expect(hub.wait() == 0, "\(hub.standardError)")
    return hub.standardError
  }

  @Test(.enabled(if: RootRights.areWanted, "left out by SKIP=root"))
  func `a hub whose user has no home folder reports that it can store nothing`() throws {
    try RootRights.require()
    // No user database has this number.
    let uid = 1_987_654_321
    let said = wordsOfHub(uid: uid)
    #expect(said.contains("the usage history will be lost when the hub stops: this user has no home"), "\(said)")
    let rows = (0..<2000).map { "\(Double($0) / 100),0.01,-0.02,0.005,0.\($0 % 3),0,9.8" }
    HubProcess.write("t,gx,gy,gz,ax,ay,az\n" + rows.joined(separator: "\n"), to: "\(folder)/rest.csv")
    let calibrate = program(
      [
        "calibrate", "gyro", "--imu", "\(folder)/rest.csv", "--device", "imu", "--board", "\(folder)/board.json5",
        "--socket", "\(folder)/hub.sock",
      ], uid: uid)
    #expect(calibrate.wait() == 77, "\(calibrate.standardError)")
    #expect(calibrate.standardError.contains("next: name a folder in STATE_DIRECTORY"), "\(calibrate.standardError)")
  }

  @Test(.enabled(if: RootRights.areWanted, "left out by SKIP=root"))
  func `without HOME, the user database gives the home folder`() throws {
    try RootRights.require()
    let nobody = try #require(getpwnam("nobody")).pointee
    let home = String(cString: nobody.pw_dir)
    try #require(access(home, F_OK) != 0, "Debian gives this user the home folder /nonexistent, not \(home)")
    let said = wordsOfHub(uid: Int(nobody.pw_uid))
    // There is no home to write to, so nothing is written anywhere.
    #expect(said.contains("\(home)/.local/state/sensorhub/power.json cannot be written"), "\(said)")
  }
}
