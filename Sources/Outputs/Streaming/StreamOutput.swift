/// What is served to whoever connects.
protocol StreamOutput: Sendable {
  /// Begins to serve a client; returns `nil` where everything has been said already.
  func serve(_ connection: StreamConnection) -> (any StreamSession)?
}

/// What one client is served, for as long as its connection lives.
protocol StreamSession: AnyObject, Sendable {
  /// Takes what the client has sent.
  func receive(_ bytes: UnsafeBufferPointer<UInt8>)
  /// The connection is over: every lease it held ends here.
  func end()
}
