/// A service for clients that connect.
protocol StreamOutput: Sendable {
  /// Begins to serve a client; returns `nil` where everything has been said already.
  func serve(_ connection: StreamConnection) -> (any StreamSession)?
}

/// What one client is served, for as long as its connection lives.
protocol StreamSession: AnyObject, Sendable {
  /// Takes a client's bytes.
  func receive(_ bytes: UnsafeBufferPointer<UInt8>)
  /// The connection is over: every lease it held ends here.
  func end()
}
