import Glibc

/// The program without clients: context switches of all threads in 30 seconds.
struct IdleBenchmark {
  let executable: String

  func run() {
    let socket = "/tmp/sensorhub-benchmark/hub.sock"
    guard let board = SixDevices.write() else { return print("no board file can be written to /tmp") }
    defer { unlink(board) }
    guard let pid = Child.start([executable, "run", "--board", board, "--socket", socket]) else {
      return print("\(executable) does not run")
    }
    pause(seconds: 3)
    let before = Child.contextSwitches(pid)
    pause(seconds: 30)
    print("idle hub with six devices: \(Child.contextSwitches(pid) - before) context switches in 30 s")
    kill(pid, SIGTERM)
    var status: Int32 = 0
    waitpid(pid, &status, 0)
  }
}
