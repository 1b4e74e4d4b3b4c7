import HardwareIO
import Hub
import Outputs
import Publishing

/// Reads the board file again. A file that is wrong changes nothing.
struct Reloader: Sendable {
  let source: BoardSource
  let host: HubHost
  let sink: JournalSink

  func reload() async {
    ServiceManager.reloading()
    do {
      let board = try source.load { sink.write(.warning, $0) }
      for problem in await host.serve(board) { sink.write(.warning, problem) }
      sink.write(.notice, "board '\(board.name)' read again")
    } catch {
      sink.write(.error, "the board file is wrong, the hub goes on with the old one: \(error)")
    }
    ServiceManager.ready(status: "board \(host.hub.value.board.name)")
  }
}
