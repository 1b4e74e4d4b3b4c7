/// The bytes and reads that a driver needs to read its chip, from which the load of the bus follows.
public struct BusReadout: Sendable {
  /// The readout of a polled chip: its status, and up to seven bytes.
  static let polled = BusReadout(bytesPerSample: 8, readsPerSample: 2, bytesPerBurst: 0, readsPerBurst: 0)

  /// The clocks of a read apart from its data: address, register and repeated address with their acknowledges, and the
  /// start and stop conditions.
  private static let clocksPerRead = 30.0
  private static let clocksPerByte = 9.0

  var bytesPerSample: Int
  /// The reads per sample, in addition to the reads per burst.
  var readsPerSample: Int
  /// The bytes per burst, in addition to the samples.
  var bytesPerBurst: Int
  var readsPerBurst: Int

  /// - Parameters:
  ///   - bytesPerSample: the bytes of a sample in the FIFO
  ///   - bytesPerBurst: the bytes that state how many samples wait
  ///   - readsPerBurst: the reads per burst: one for the number of samples, and one for all samples
  init(bytesPerSample: Int, readsPerSample: Int = 0, bytesPerBurst: Int = 2, readsPerBurst: Int = 2) {
    self.bytesPerSample = bytesPerSample
    self.readsPerSample = readsPerSample
    self.bytesPerBurst = bytesPerBurst
    self.readsPerBurst = readsPerBurst
  }

  /// The number of bus clocks per second that the readout takes.
  ///
  /// - Parameters:
  ///   - rateHz: samples a second
  ///   - burstRateHz: the number of times per second that the FIFO is emptied
  func clocks(rateHz: Double, burstRateHz: Double) -> Double {
    let sample = Double(bytesPerSample) * BusReadout.clocksPerByte + Double(readsPerSample) * BusReadout.clocksPerRead
    let burst = Double(bytesPerBurst) * BusReadout.clocksPerByte + Double(readsPerBurst) * BusReadout.clocksPerRead
    return rateHz * sample + burstRateHz * burst
  }
}
