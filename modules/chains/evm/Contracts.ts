/**
 * The two contracts of the EVM family: Collector, which moves what lies on receiving addresses to their merchant, and
 * Payer, which pays a batch once. Sources, builds and their hashes are in `modules/chains/evm/contracts/`.
 *
 * The builds are frozen: money sent to the addresses of one Collector can be collected by that one only. They hold on
 * every EVM chain, because anybody deploys them through the keyless deployer with salt 0.
 */

/** Stands at this address on EVM chains: it creates, by CREATE2, the code it is sent behind a salt of 32 bytes. */
export const keylessDeployer = "0x4e59b44847b379578588920cA78FbF26c0B4956C"

/** What a node tells of a contract when it is there and is the frozen build. */
export interface FrozenBuild {
  /** Where it is on every chain (EIP-55). */
  readonly address: string
  /** keccak256 of what `eth_getCode` answers for it; another hash is another contract. */
  readonly codeHash: string
}

export const collector: FrozenBuild = {
  address: "0x7A8c3658258FE04EE067A7D8FC74CE54DA169dAC",
  codeHash: "0x6bc2b65fa680d430cc8468d7ab6a6a549723cdb8f9e6e961fb8da609fce833d0"
}

export const payer: FrozenBuild = {
  address: "0x1e739F333A5eECd9AB60714a775ECA5a46e227c0",
  codeHash: "0x44ef7d8db1342fe6f3bc055aabe356dac2ccea8d08678e3c0d62d732a86561ae"
}

/** keccak256 of the code that creates a forwarder: the Collector's own `forwarderHash`. */
export const forwarderHash = "0xd4af28e8f1a064705ec952db0261ef9b2a764944f199a76c948d448624d84323"

/**
 * Addresses that one call of `collect` is given, at most: the first time each costs about 56,000 gas, and a
 * transaction may have 16,777,216 (EIP-7825).
 */
export const maximumAddressesPerCall = 200

/** The first 4 bytes of calls, by function. */
export const selectors = {
  /** `collect(address payee, address[] tokens, bytes32[] salts) returns (uint256)`; address zero: the native coin. */
  collect: "0xe112c6c2",
  /** `addressOf(address payee, bytes32 salt) view returns (address)`, of the Collector. */
  addressOf: "0xe99718d8",
  /** `forwarderHash() view returns (bytes32)`, of the Collector. */
  forwarderHash: "0x4c639a98",
  /**
   * `pay(address payer, uint256 chainId, bytes32 batch, uint256 validUntil, (address token, address to, uint256
   * amount)[] lines) payable`; address zero as token: the native coin.
   */
  pay: "0x117b08c8",
  /** `isPaid(address payer, bytes32 batch) view returns (bool)`. */
  isPaid: "0x92a43afc"
} as const

/** The first topic of logs, by event. */
export const topics = {
  /** `NativeCollected(address indexed from, address indexed payee, uint256 amount)`, of the Collector. */
  nativeCollected: "0xc612e9bfe0a2c61dc2b1c684ad6cd32cd4f57062d094c8f29dac04e74778c4a3",
  /**
   * `Paid(address indexed payer, bytes32 indexed batch, bytes32 content)`, of the Payer; `content` is
   * keccak256(abi.encode(validUntil, lines)).
   */
  paid: "0x702466cc154e67acd989f1efe6968e7197a7b2cd8eb3253d666064ede9bdf97e"
} as const

/** What a simulated call answers that fails: the first 4 bytes, by error. */
export const contractErrors = {
  /** Nothing was there to collect, or every token refused. */
  NothingCollected: "0xceb7135a",
  /** A call may have failed for lack of gas: send it with more. */
  GasTooLow: "0x858c8974",
  WrongPayer: "0x9e7194c3",
  WrongChain: "0x10dfc033",
  AlreadyPaid: "0xd70a0e30",
  Expired: "0x203d82d8",
  /** Followed by the index of the line as a word, counted from 0. */
  LineFailed: "0xc6bd1554",
  WrongValue: "0x98d4901c"
} as const
