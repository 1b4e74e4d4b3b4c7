import Guarding
import HTTPTypes
import HardwareIO
import Hub
import Hummingbird
import NIOCore
import Publishing

/// Fences that are added and removed while the hub runs.
///
/// A fence watches until it is removed, and wakes receivers to do so. Adding a fence therefore needs the same rights
/// as a hold of more than an hour: a trusted account, or the port's token.
enum FenceRoutes {
  private static let longestBody = 4096

  static func routes(_ host: HubHost, hasToken: Bool) -> [HTTPRoute] {
    [
      HTTPRoute(.post, "fences") { request, context in
        try requireRight(context, hasToken)
        var request = request
        let body = try await request.collectBody(upTo: longestBody)
        let order: FenceOrder
        do throws(FenceRefusal) {
          order = try FenceOrder.read(Array(body.readableBytesView))
        } catch {
          throw httpError(error)
        }
        let outcome = try await add(order, to: host, as: context.peer.holder("web"))
        return answer(.created, to: request) { json in
          FenceReport.write(
            name: outcome.fence.name, isRemoved: false, isKept: outcome.isKept, outcome.fence, to: &json)
        }
      },
      HTTPRoute(.delete, "fences/:name") { request, context in
        try requireRight(context, hasToken)
        let name = PathEncoding.decoded(try context.parameters.require("name"))
        switch await onThread({ Result { () throws(FenceRefusal) in try host.fences.remove(name) } }) {
        case .success(let isKept):
          return answer(.ok, to: request) { json in
            FenceReport.write(name: name, isRemoved: true, isKept: isKept, nil, to: &json)
          }
        case .failure(let refusal): throw httpError(refusal)
        }
      },
    ]
  }

  private static func requireRight(_ context: HTTPContext, _ hasToken: Bool) throws {
    guard hasToken || context.user.isTrusted else {
      throw HTTPError(
        .forbidden,
        message: "to change fences, be root or in the group \(Accounts.service), or send the port's token "
          + "(http.tokenFile): each fence wakes the receiver until you remove it")
    }
  }

  private static func answer(
    _ status: HTTPResponse.Status, to request: Request, _ write: (inout JSONWriter) -> Void
  ) -> Response {
    var response = HTTPDocument.json(to: request, write)
    response.status = status
    return response
  }

  /// Adds a fence. If its centre is the board's position, waits for that position.
  private static func add(
    _ order: FenceOrder, to host: HubHost, as holder: Holder
  ) async throws -> AddedFenceOutcome {
    let (answers, continuation) = AsyncStream.makeStream(of: Answer.self, bufferingPolicy: .bufferingOldest(1))
    let waiting = await onThread {
      host.add(order, as: holder) { outcome, refusal in
        continuation.yield(Answer(outcome: outcome, refusal: refusal))
        continuation.finish()
      }
    }
    defer { waiting?.cancel() }
    for await answer in answers {
      if let outcome = answer.outcome { return outcome }
      if let refusal = answer.refusal { throw httpError(refusal) }
    }
    throw httpError(.noPosition)
  }

  /// Runs a change on a thread of its own, because it waits for the disk, and the web port has one thread for everything.
  private static func onThread<Value: Sendable>(_ change: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      let run: @Sendable () -> Void = { continuation.resume(returning: change()) }
      if DetachedThread.start("fences", run) != 0 { run() }
    }
  }

  private struct Answer: Sendable {
    var outcome: AddedFenceOutcome?
    var refusal: FenceRefusal?
  }

  private static func httpError(_ refusal: FenceRefusal) -> HTTPError {
    let status: HTTPResponse.Status =
      switch refusal {
      case .wrong: .badRequest
      case .ofBoardFile: .conflict
      case .unknown, .noReceiver: .notFound
      case .full, .noPosition: .serviceUnavailable
      }
    return HTTPError(status, message: refusal.description)
  }
}
