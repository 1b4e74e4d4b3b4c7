import HardwareIO
import TestSupport
import Testing

/// What the fuzzer starts from, and what it once found something with: nothing of it does harm.
struct SeedTests {
  @Test(.timeLimit(.minutes(10)), arguments: FuzzTarget.allCases)
  func `the seeds of each fuzzing target are read without harm, as they are and cut off`(
    _ target: FuzzTarget
  ) throws {
    let folder = SharedData.packageFolder + "/Tests/Fuzzing/Corpora/\(target.rawValue)"
    let seeds = Files.names(in: folder)
    #expect(!seeds.isEmpty)
    for seed in seeds {
      let bytes = try Files.bytes(of: "\(folder)/\(seed)")
      bytes.withUnsafeBufferPointer { bytes in
        for part in 0...16 { target.run(UnsafeBufferPointer(rebasing: bytes[..<(bytes.count * part / 16)])) }
      }
    }
  }
}
