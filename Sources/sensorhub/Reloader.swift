import HardwareIO
import Hub
import Outputs
import Publishing
import ServiceLifecycle
import UnixSignals

/// Reads the board file again on SIGHUP. A file that is wrong changes nothing.
struct Reloader: Service {
  let source: BoardSource
  let hardware: any Hardware
  let host: HubHost
  let sink: JournalSink

  func run() async throws {
    for await _ in await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown() {
      ServiceManager.reloading()
      do {
        let board = try source.load()
        let hub = Hub(board: board, hardware: hardware)
        host.replace(with: hub)
        sink.write(.notice, "board '\(board.name)' read again")
      } catch {
        sink.write(.error, "the board file is wrong, the hub goes on with the old one: \(error)")
      }
      ServiceManager.ready(status: "board \(host.hub.value.board.name)")
    }
  }
}
