import Hub
import MonotonicTime
import Publishing

/// The status of the devices, sent once to each client that connects. Observes; wakes nothing.
struct DevicesOutput: StreamOutput {
  let host: HubHost

  func serve(_ connection: StreamConnection) -> (any StreamSession)? {
    // The status fits into any socket's buffer.
    var json = JSONWriter()
    DevicesReport.write(host, to: &json)
    connection.answer(json.bytes)
    return nil
  }
}
