import HardwareIO
import Hub
import Outputs
import Publishing

/// Reads the board file again. If the file is invalid, nothing changes.
struct Reloader: Sendable {
  let source: BoardSource
  let host: HubHost
  let sink: JournalSink
  let inUse: BoardInUse

  func reload() async {
    ServiceManager.reloading()
    do {
      let loaded = try source.loadWithText { sink.write(.warning, $0) }
      let board = loaded.board
      let old = host.hub.registry.value
      // `serve` returns `nil` if the hub is ending. Keep the copy of the previous file then, because only that copy
      // describes the hub's devices.
      if let problems = await host.serve(board, text: loaded.text) {
        for problem in problems { sink.write(.warning, problem) }
        // If a removed device is still on, keep the copy of the previous file, because only that copy describes the
        // device.
        if !Set(old.switchProblems).isSubset(of: host.hub.switchProblems) { inUse.leave() }
        if let problem = inUse.record(loaded.fileText) { sink.write(.warning, problem) }
        host.conditions.boardWasRead(nil)
        sink.write(.notice, "board '\(board.name)' reloaded")
      }
    } catch {
      let problem = error as? CommandError
      let (summary, nextStep) = (problem?.message ?? "\(error)", problem?.nextStep)
      host.conditions.boardWasRead((summary, nextStep))
      // One event is one line, with the next step last.
      let rest = nextStep.map { "; \($0)" } ?? ""
      sink.write(.error, "board file: rejected, the hub keeps the old one: \(summary)\(rest)")
    }
    ServiceManager.ready(status: "board \(host.hub.board.name)")
  }
}
