import Glibc
import HardwareIO
import TestSupport
import Testing

/// `sensorhub fuse` on recordings.
@Suite(.timeLimit(.minutes(10)))
struct FuseTests {
  private func write(_ text: String, _ name: String) -> String {
    let path = "/tmp/sensorhub-test-\(getpid())-\(name)"
    HubProcess.write(text, to: path)
    return path
  }

  @Test func `fuse prints a row for each valid row, whatever the order of the columns, and counts invalid ones`() {
    let path = write(
      """
      note,ax,ay,az,t,gx,gy,gz
      a,0,0,9.81,0.00,0,0,0
      b,0,0,9.81,0.01,0,0,0
      c,0,0,none,0.02,0,0,0
      d,0,0

      e,0,0,9.81e0,3e-2,0,0,0
      """, "rows.csv")
    defer { unlink(path) }
    let program = Program(["fuse", "--imu", path, "--frame", "enu"])
    #expect(program.wait() == 0)
    #expect(program.lines.first == "t,qw,qx,qy,qz")
    #expect(program.lines.count == 4)
    #expect(program.lines.last?.hasPrefix("0.030000,") == true)
    #expect(program.standardError == "bad_rows=2 refused_fixes=0\n")
    // The device lies flat with its third axis up, so there is no tilt in the frame whose third axis points up.
    let values = program.lines[1].split(separator: ",").compactMap { Double($0) }
    #expect(abs(values[2]) < 1e-6 && abs(values[3]) < 1e-6)
  }

  @Test(arguments: [
    (["--imu", "/nowhere.csv"], 66, "cannot read"), (["--imu", "/etc/passwd"], 65, "has no column 't'"),
    (["--imu", "/etc/passwd", "--vehicle"], 64, "need --gnss"),
    (["--imu", "/etc/passwd", "--gnss", "/etc/passwd", "--lever-arm", "1,2"], 64, "lever-arm"),
    (["--imu", "/nowhere.csv", "--gnss", "/nowhere.csv", "--lever-arm", "-1.2,0,-0.4"], 66, "cannot read"),
    (["--imu", "/nowhere.csv", "--correlation-time", "-3"], 64, "--correlation-time must be from 0 to 3600"),
  ])
  func `fuse reports what is wrong with a file`(_ arguments: [String], _ code: Int32, _ text: String) {
    let program = Program(["fuse"] + arguments)
    #expect(program.wait() == code)
    #expect(program.standardError.contains(text), "\(program.standardError)")
  }

  @Test func `fuse ends quietly when the reader of its output closes the pipe`() {
    let rows = (0..<40_000).map { "\(Double($0) / 100),0,0,0,0,0,-9.808\n" }
    let path = write("t,gx,gy,gz,ax,ay,az\n" + rows.joined(), "many.csv")
    defer { unlink(path) }
    let script = "set -o pipefail; '\(Program.sensorhub)' fuse --imu \(path) | head -n 2"
    let program = Program(["-c", script], path: "/bin/bash")
    #expect(program.wait() == 0, "\(program.standardError)")
    #expect(program.lines.count == 2 && program.standardError.isEmpty, "\(program.standardError)")
  }

  @Test func `fuse navigates with fixes, and draws the result`() {
    var imu = "t,gx,gy,gz,ax,ay,az\n"
    var gnss = "t,lat,lon,alt,sn,se,sd,vn,ve,vd,svn,sve,svd,quality\n"
    // The vehicle drives north at 10 m/s, and there is no fix in the last five seconds.
    for step in 0..<2000 {
      let time = Double(step) / 100
      imu += "\(time),0,0,0,0,0,-9.808\n"
      guard step % 25 == 0, time < 15 else { continue }
      gnss += "\(time),\(47 + time * 10 / 111_170),8,400,1,1,2,10,0,0,0.1,0.1,0.2,\(step == 50 ? 0 : 1)\n"
    }
    let (imuPath, gnssPath) = (write(imu, "imu.csv"), write(gnss, "gnss.csv"))
    let plot = "/tmp/sensorhub-test-\(getpid()).svg"
    defer { for path in [imuPath, gnssPath, plot] { unlink(path) } }
    let program = Program(["fuse", "--imu", imuPath, "--gnss", gnssPath, "--vehicle", "--plot", plot])
    #expect(program.wait() == 0)
    #expect(program.lines.count == 2001)
    #expect(program.lines[1000].hasSuffix(",fused"))
    #expect(program.lines.last?.hasSuffix(",deadReckoning") == true)
    let last = program.lines.last?.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) } ?? []
    let latitude = 47 + 19.99 * 10 / 111_170
    #expect(abs((last[5] ?? 0) - latitude) * 111_170 < 3, "\(program.lines.last ?? "")")
    let drawing = (try? Files.bytes(of: plot)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    #expect(drawing.hasPrefix("<svg") && drawing.contains("dead reckoning") && drawing.hasSuffix("</svg>\n"))
  }

  @Test(arguments: [4.9, 9.8, 19.6])
  func `fuse reports a wrong scale of the accelerometer, with and without fixes`(_ gravity: Double) {
    var imu = "t,gx,gy,gz,ax,ay,az\n"
    for step in 0..<1000 { imu += "\(Double(step) / 100),0,0,0,0,0,\(-gravity - Double(step % 7) / 1000)\n" }
    let imuPath = write(imu, "scale-\(gravity).csv")
    let gnssPath = write("t,lat,lon,alt,sn,se,sd\n" + "0.5,47,8,400,2,2,4\n", "scale-gnss-\(gravity).csv")
    defer { for path in [imuPath, gnssPath] { unlink(path) } }
    let isWrong = gravity != 9.8
    for fixes in [[], ["--gnss", gnssPath]] {
      let program = Program(["fuse", "--imu", imuPath] + fixes)
      #expect(program.wait() == 0 && program.lines.count == 1001, "\(program.standardError)")
      let text = "imu: its accelerometer shows \(gravity) m/s² of gravity instead of 9.8, and is not fused"
      #expect(program.standardError.contains(text) == isWrong, "\(program.standardError)")
    }
  }

  /// A minute of turning at 100 degrees per second about the vertical, a row per 10 ms.
  private var turning: [String] {
    (0..<500).map { step in "\(Double(step) / 100),0,0,1.7453292519943295,0,0,-9.80665" }
  }

  private static let heading = "t,gx,gy,gz,ax,ay,az"

  /// The heading of the last row in degrees.
  private func heading(_ arguments: [String]) throws -> Double {
    let program = Program(["fuse"] + arguments)
    #expect(program.wait() == 0, "\(program.standardError)")
    let values = try #require(program.lines.last).split(separator: ",").compactMap { Double($0) }
    try #require(values.count == 5)
    return 2 * atan2(values[4], values[1]) * 180 / .pi
  }

  @Test func `a magnetometer has its own mount`() throws {
    let rows = (1...1000).map { "\(Double($0) / 100),0,0,0,0,0,-9.80665,0,20,45\n" }
    let imu = write("t,gx,gy,gz,ax,ay,az,mx,my,mz\n" + rows.joined(), "mounted.csv")
    let board = write(
      """
      { name: 'test', devices: { imu: { driver: 'mpu-6050', bus: '/dev/i2c-9' },
        mag: { driver: 'lis3mdl', bus: '/dev/i2c-9', mount: [[0, 1, 0], [-1, 0, 0], [0, 0, 1]] } } }
      """, "mounted.json5")
    defer { for path in [imu, board] { unlink(path) } }
    #expect(abs(try heading(["--imu", imu]) + 90) < 1)
    #expect(abs(try heading(["--imu", imu, "--board", board])) < 1)
  }

  @Test func `a magnetometer at a tenth of the rate turns the heading as fast`() throws {
    // After 30 s, the field shows that the board has turned by 30 degrees.
    let headings = try [1, 10].map { every -> Double in
      let rows = (1...5200).map { step -> String in
        let angle = step < 3000 ? 0 : Double.pi / 6
        let field = step % every == 0 ? "\(20 * cos(angle)),\(-20 * sin(angle)),45" : ",,"
        return "\(Double(step) / 100),0,0,0,0,0,-9.80665,\(field)\n"
      }
      let imu = write("t,gx,gy,gz,ax,ay,az,mx,my,mz\n" + rows.joined(), "rate-\(every).csv")
      defer { unlink(imu) }
      return try heading(["--imu", imu])
    }
    #expect(headings[0] > 15 && abs(headings[0] - headings[1]) < 2, "\(headings)")
  }

  @Test func `rows out of order give the same result as sorted rows`() {
    var swapped = turning
    for index in stride(from: 10, to: 500, by: 20) { swapped.swapAt(index, index + 1) }
    let paths = [turning, swapped].enumerated().map { index, rows in
      write(([FuseTests.heading] + rows).joined(separator: "\n") + "\n", "order-\(index).csv")
    }
    defer { for path in paths { unlink(path) } }
    let results = paths.map { Program(["fuse", "--imu", $0]) }
    #expect(results.map { $0.wait() } == [0, 0])
    #expect(results[0].lines == results[1].lines && results[1].lines.count == 501)
    #expect(results[1].standardError.isEmpty)
  }

  @Test func `a recording whose clock restarts is fused as two recordings, unlike one with a stray row`() {
    var imu: [String] = []
    var gnss: [String] = []
    for step in 0..<1500 {
      let time = Double(step) / 100
      imu.append("\(time),0,0,0,0,0,-9.808")
      if step % 25 == 0 { gnss.append("\(time),\(47 + time * 10 / 111_170),8,400,1,1,2,10,0,0,0.1,0.1,0.2,1") }
    }
    let columns = "t,lat,lon,alt,sn,se,sd,vn,ve,vd,svn,sve,svd,quality"
    func fuse(_ imu: [String], _ gnss: [String]) -> Program {
      let paths = [
        write(([FuseTests.heading] + imu).joined(separator: "\n") + "\n", "twice-imu.csv"),
        write(([columns] + gnss).joined(separator: "\n") + "\n", "twice-gnss.csv"),
      ]
      defer { for path in paths { unlink(path) } }
      let program = Program(["fuse", "--imu", paths[0], "--gnss", paths[1], "--vehicle"])
      #expect(program.wait() == 0)
      return program
    }
    let once = fuse(imu, gnss)
    let twice = fuse(imu + imu, gnss + gnss)
    #expect(once.lines.count == 1501 && once.lines.last?.hasSuffix(",fused") == true)
    #expect(twice.lines == once.lines + once.lines.dropFirst())
    #expect(twice.standardError.isEmpty, "\(twice.standardError)")
    let stray = fuse(imu.prefix(700) + ["0.005,9,9,9,0,0,0"] + imu.suffix(800), gnss)
    #expect(stray.lines == once.lines)
    #expect(stray.standardError == "bad_rows=1 refused_fixes=0\n")
  }

  @Test func `fuse overwrites an existing file with a drawing only if told to, and never its input`() throws {
    let text = "t,gx,gy,gz,ax,ay,az\n0.00,0,0,0,0,0,9.81\n0.01,0,0,0,0,0,9.81\n"
    let imu = write(text, "drawn.csv")
    let plot = write("mine", "drawn.svg")
    // The link is another name of the same file.
    let link = "/tmp/sensorhub-test-\(getpid())-drawn.link"
    symlink(imu, link)
    defer { for path in [imu, plot, link] { unlink(path) } }
    for (path, arguments) in [(imu, []), (imu, ["--force"]), (link, ["--force"])] {
      let fuse = Program(["fuse", "--imu", imu, "--plot", path] + arguments)
      #expect(fuse.wait() == 66)
      #expect(fuse.standardError.contains("'\(path)' is the file that is being read\n  next: name another file"))
      #expect(fuse.standardOutput.isEmpty)
    }
    #expect(try Files.bytes(of: imu) == Array(text.utf8))
    let refused = Program(["fuse", "--imu", imu, "--plot", plot])
    #expect(refused.wait() == 66)
    #expect(refused.standardError.contains("replace this one with --force"), "\(refused.standardError)")
    #expect(try Files.bytes(of: plot) == Array("mine".utf8))
    #expect(Program(["fuse", "--imu", imu, "--plot", plot, "--force"]).wait() == 0)
    #expect(String(decoding: try Files.bytes(of: plot), as: UTF8.self).hasPrefix("<svg"))
  }

  /// The mean force in this trial is twice gravity for minutes.
  @Test(.enabled(if: SharedData.isWanted, "left out by SKIP=recordings"))
  func `a real sensor that is shaken is fused`() throws {
    let imu = try #require(SharedData.folder) + "/attitude/16_undisturbed_fast_translation_B/imu.csv"
    let fixes = (0..<187).map { "\($0).5,47,8,400,2,2,4\n" }
    let gnss = write("t,lat,lon,alt,sn,se,sd\n" + fixes.joined(), "shaken.csv")
    defer { unlink(gnss) }
    let program = Program(["fuse", "--imu", imu, "--gnss", gnss])
    #expect(program.wait() == 0)
    #expect(!program.standardError.contains("gravity"), "\(program.standardError)")
  }

  @Test(.enabled(if: SharedData.isWanted, "left out by SKIP=recordings"))
  func `six real trials are off by less than 1.9 degrees on average`() throws {
    let folder = try #require(SharedData.folder) + "/attitude"
    var errors: [Double] = []
    for trial in Files.names(in: folder) {
      let program = Program(["fuse", "--imu", "\(folder)/\(trial)/imu.csv", "--frame", "enu"])
      #expect(program.wait() == 0)
      let truth = String(decoding: SharedData.read("\(folder)/\(trial)/truth.csv"), as: UTF8.self)
        .split(separator: "\n").dropFirst()
      var (sum, count) = (0.0, 0.0)
      for (row, expected) in zip(program.lines.dropFirst(), truth) where expected.hasSuffix(",1") {
        let q = row.split(separator: ",").compactMap { Double($0) }
        let p = expected.split(separator: ",").compactMap { Double($0) }
        // The vehicle moves, but the cameras do not see it, so the truth is unknown.
        guard p.count == 6 else { continue }
        let product = abs(q[1] * p[1] + q[2] * p[2] + q[3] * p[3] + q[4] * p[4])
        let angle = 2 * acos(min(1, product)) * 180 / .pi
        sum += angle * angle
        count += 1
      }
      errors.append((sum / count).squareRoot())
    }
    #expect(errors.count == 6)
    #expect(errors.reduce(0, +) / 6 < 1.9, "\(errors)")
  }
}
