@testable import Outputs

/// A client of the gpsd port. The byte 0xFF ends a packet.
enum GPSDTarget {
  static func run(_ input: UnsafeBufferPointer<UInt8>) {
    var requests = GPSDRequests()
    var watch = GPSDWatch()
    for packet in input.split(separator: 0xff) {
      for request in UnsafeBufferPointer(rebasing: packet).requests(&requests) { serve(request, &watch) }
    }
    // After any bytes, a request on a line of its own is answered.
    let last = Array("\n?POLL;".utf8).withUnsafeBufferPointer { $0.requests(&requests).last }
    require(
      last == GPSDRequests.Request(name: "POLL", object: nil), "a clean request is lost: \(String(describing: last))")
  }

  private static func serve(_ request: GPSDRequests.Request, _ watch: inout GPSDWatch) {
    guard let object = request.object else { return }
    let before = watch
    do throws(GPSDMembers.Refusal) {
      try watch.change(by: object)
      let members = try GPSDMembers(object)
      _ = try members.string("path")
      _ = try members.integer("bps")
      _ = try members.number("cycle")
    } catch {
      if watch == before { return }
    }
    var json = JSONWriter(capacity: 256)
    watch.write(to: &json)
    requireJSONLines(json.bytes)
  }
}

extension UnsafeBufferPointer<UInt8> {
  fileprivate func requests(_ requests: inout GPSDRequests) -> [GPSDRequests.Request] { requests.take(self) }
}
