import MonotonicTime
import NMEA
import TestSupport
import Testing

@testable import Hub
@testable import Outputs

/// Stored knowledge of where the board was in earlier runs.
struct FenceMemoryTests {
  @Test func `an unchanged document is not written again`() throws {
    let folder = TemporaryFolder("fence-memory")
    let path = "\(folder.path)/fences.json"
    let area = try FenceArea(circleAbout: Coordinate(latitudeDegrees: 54, longitudeDegrees: 10), radiusMetres: 40)
    let settings = FenceSettings(name: "anchor", area: area)
    let (writes, looks) = (Recorder<Void>(), Recorder<Void>())
    let memory = FenceMemory(path: path) { writes.append(()) }
    func keep(_ state: FenceStatus.State) {
      let count = looks.values.count
      memory.keep {
        var status = FenceStatus(name: settings.name, since: MonotonicInstant(nanoseconds: 0))
        status.state = state
        looks.append(())
        return [(settings, status)]
      }
      #expect(looks.waits { $0.count == count + 1 })
    }
    keep(.inside)
    // The writes follow one another, so this one, which changes nothing, comes after the previous one has ended.
    keep(.unknown)
    #expect(memory.sides(of: [settings]) == ["anchor": .inside])
    for _ in 0..<10 {
      keep(.unknown)
      keep(.inside)
    }
    keep(.outside)
    keep(.unknown)
    #expect(memory.sides(of: [settings]) == ["anchor": .outside])
    #expect(writes.values.count == 2)
  }
}
