import Hub
import MonotonicTime
import Publishing

/// Sends the status of the devices once to each client that connects. It only observes, and wakes no device.
struct DevicesOutput: StreamOutput {
  let host: HubHost

  func serve(_ connection: StreamConnection) -> (any StreamSession)? {
    // The status fits into the buffer of any socket, so no client makes the server wait.
    var json = JSONWriter()
    DevicesReport.write(host, to: &json)
    connection.answer(json.bytes)
    return nil
  }
}
