/// A service for clients that connect.
protocol StreamOutput: Sendable {
  /// Begins to serve a client.
  ///
  /// - Returns: `nil` if the client has already received everything
  func serve(_ connection: StreamConnection) -> (any StreamSession)?
}

/// Serves one client for the lifetime of its connection.
protocol StreamSession: AnyObject, Sendable {
  /// Takes a client's bytes.
  func receive(_ bytes: UnsafeBufferPointer<UInt8>)
  /// Ends every lease after the connection is over.
  func end()
}
