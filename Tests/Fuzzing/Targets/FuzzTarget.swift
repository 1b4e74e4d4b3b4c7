/// A parser of foreign bytes, which accepts any input. It ends the process if an invariant does not hold.
public enum FuzzTarget: String, CaseIterable, Sendable {
  case framing, messages, sentences, gpsd, boards, addresses, http, clients, states, casters, escapes, dropins,
    documents,
    recordings, brokers

  public func run(_ input: UnsafeBufferPointer<UInt8>) {
    switch self {
    case .framing: FramingTarget.run(input)
    case .messages: MessageTarget.run(input)
    case .sentences: SentenceTarget.run(input)
    case .gpsd: GPSDTarget.run(input)
    case .boards: BoardTarget.run(input)
    case .addresses: AddressTarget.run(input)
    case .http: HTTPTarget.run(input)
    case .clients: ClientTarget.run(input)
    case .states: StateTarget.run(input)
    case .casters: CasterTarget.run(input)
    case .escapes: EscapeTarget.run(input)
    case .dropins: DropInTarget.run(input)
    case .documents: DocumentTarget.run(input)
    case .recordings: RecordingTarget.run(input)
    case .brokers: BrokerTarget.run(input)
    }
  }
}
