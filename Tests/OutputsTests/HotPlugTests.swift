import Glibc
import TestSupport
import Testing

@testable import Outputs

@Suite struct HotPlugTests {
  private let folder = TemporaryFolder("hot-plug")

  @Test func `a device that udev reports by its name and its links appears once`() throws {
    let device = "\(folder.path)/ttyUSB0"
    let link = "\(folder.path)/usb-receiver"
    let file = creat(device, 0o600)
    try #require(file >= 0)
    close(file)
    #expect(symlink("ttyUSB0", link) == 0)
    for path in [device, link] {
      #expect([device, link].filter { HotPlugService.isSame(path, $0) } == [device])
    }
  }

  @Test func `a link that leads to no device counts by its name`() {
    let link = "\(folder.path)/usb-receiver"
    #expect(HotPlugService.isSame(link, link))
    #expect(!HotPlugService.isSame(link, "\(folder.path)/ttyUSB0"))
  }
}
