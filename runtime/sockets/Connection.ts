/**
 * One open socket, as the hub sees it. The `ws` library makes the handshake, reads, and closes; frames that were
 * rendered once are written to the same TCP socket directly. That is sound because without compression `ws` too writes
 * every frame whole in one turn, and the TCP socket shows what `ws` hides: bytes still buffered, bytes read, and pings.
 */
import type { WebSocket } from "@effect/platform-node/NodeWS"
import type { Socket as TcpSocket } from "node:net"
import { compareEventPositions, type EventPosition } from "../../schemas/Ids.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { EventStreamName, StreamFilters } from "./Filters.ts"
import { type CloseReason, closeReasons, heartbeatSeconds, heartbeatText, pingFrame, textFrame } from "./Frames.ts"

/** Frames that may wait for a slow reader (modules/docs/reference/websockets.md#limits). */
export const maximumFramesBehind = 1_000

/** Bytes that may wait for a slow reader (modules/docs/reference/websockets.md#limits). */
export const maximumBytesBehind = 1_048_576

/** How long a reader may take nothing while something waits. */
export const stallMillis = 10_000

/** Pings without a sign of life before a peer counts as gone (modules/docs/reference/websockets.md#limits). */
const maximumMisses = 2

/** Messages, pings and pongs a client may send in a second (modules/docs/reference/websockets.md#limits). */
const maximumMessagesPerSecond = 10

/** Sockets of a stream that are open, and those that were dropped because they read too slowly. */
export interface ConnectionCounts {
  open: number
  slow: number
}

/** Which events a connection is told. */
export type Audience =
  | { readonly stream: "payment"; readonly invoiceId: string }
  | {
    readonly stream: EventStreamName
    readonly merchantId: number
    readonly environment: Environment
    readonly filters: StreamFilters
  }

/** What a connection is made for. */
export interface Subscription {
  readonly audience: Audience
  /** Whose connections are counted together. */
  readonly holder: string
  /** The key or session whose end ends it: `key_…`, `ses_…`; null where none does. */
  readonly revocableAs: string | null
  /** The version of the API its events are told in. */
  readonly apiVersion: string
  /** Epoch milliseconds at which the credential ends. */
  readonly expiresAtMillis: number
}

interface BufferedFrame {
  readonly position: EventPosition | null
  readonly frame: Buffer
}

export class Connection {
  readonly subscription: Subscription
  /** When an invoice that reached its end lets its listeners go, epoch milliseconds. */
  closeAtMillis: number | null = null
  isEnded = false

  private readonly socket: WebSocket
  private readonly tcp: TcpSocket
  private readonly counts: ConnectionCounts
  /** Live frames that wait until the opening is written; null once it is. */
  private liveBuffer: Array<BufferedFrame> | null = []
  /** Live events are dropped: the replay under way will read them from the table. */
  private dropsLive: boolean
  /** The last stored event written by the replay: live events up to it are repeats. */
  private replayedUpTo: EventPosition | null = null
  /** Bytes written by us, and where each frame ends that has not left the process; null while none waits. */
  private bytesWritten = 0
  private frameEnds: Array<number> | null = null
  private progress = 0
  private progressAt: number
  private heartbeatAt: number
  private bytesRead: number
  private isPingSent = false
  private missedPings = 0
  private messages = 0
  private messagesSince = 0

  constructor(
    socket: WebSocket,
    tcp: TcpSocket,
    subscription: Subscription,
    counts: ConnectionCounts,
    replays: boolean,
    nowMillis: number
  ) {
    this.socket = socket
    this.tcp = tcp
    this.subscription = subscription
    this.counts = counts
    this.dropsLive = replays
    this.progressAt = nowMillis
    this.heartbeatAt = nowMillis + heartbeatSeconds * 1000
    this.bytesRead = tcp.bytesRead
  }

  /**
   * Ends the stream from our side, with its last words; the first reason counts. A peer that does not answer is cut.
   */
  end(ending: CloseReason): void {
    if (this.isEnded) return
    this.isEnded = true
    this.liveBuffer = null
    if (ending === closeReasons.slowConsumer) this.counts.slow++
    if (ending.error !== null && this.tcp.writable) this.tcp.write(textFrame(ending.error))
    this.socket.close(ending.code, ending.reason)
  }

  /** It is closed: nothing is sent any more. */
  markClosed(): void {
    this.isEnded = true
    this.liveBuffer = null
  }

  /** Sends a live frame; `position` is that of a stored event. */
  send(frame: Buffer, position: EventPosition | null): void {
    if (this.isEnded || this.dropsLive) return
    if (this.liveBuffer === null) {
      if (!this.isRepeat(position)) this.write(frame)
    } else {
      this.liveBuffer.push({ position, frame })
    }
  }

  /** Writes at once, ahead of what waits for the opening. `flushed` is called when the bytes have left the process. */
  write(frame: Buffer, flushed?: () => void): void {
    if (this.isEnded || !this.tcp.writable) return flushed?.()
    this.tcp.write(frame, flushed === undefined ? undefined : () => flushed())
    this.bytesWritten += frame.length
    const waiting = this.tcp.writableLength
    if (waiting === 0) this.frameEnds = null
    else this.checkBacklog(waiting)
  }

  /** Bytes that have not left the process. */
  get waiting(): number {
    return this.tcp.writableLength
  }

  /** From here on live events are dropped: what the table holds is about to be read. */
  dropLive(): void {
    this.dropsLive = true
    if (this.liveBuffer !== null) this.liveBuffer = []
  }

  /** From here on live frames are kept until {@link finishOpening}. */
  bufferLive(): void {
    this.dropsLive = false
  }

  /** More is kept than a reader may be behind: better read from the table again. */
  get isOverflowing(): boolean {
    return this.liveBuffer !== null && this.liveBuffer.length > maximumFramesBehind
  }

  /** Live events up to `position` have been replayed. */
  markReplayed(position: EventPosition): void {
    this.replayedUpTo = position
  }

  /** Replay and greeting are written: what came meanwhile follows, without repeats, and then everything live. */
  finishOpening(): void {
    const held = this.liveBuffer ?? []
    this.liveBuffer = null
    for (const { frame, position } of held) if (!this.isRepeat(position)) this.write(frame)
  }

  /** Something came in: answers `ws_ping`, ignores the rest, ends the stream of a client that sends too much. */
  receive(isPing: boolean, nowMillis: number): void {
    if (nowMillis - this.messagesSince >= 1000) {
      this.messagesSince = nowMillis
      this.messages = 0
    }
    this.messages++
    if (this.messages > maximumMessagesPerSecond) return this.end(closeReasons.tooManyMessages)
    if (isPing) this.write(textFrame(heartbeatText(Math.floor(nowMillis / 1000))))
  }

  /**
   * Once a second: ends what is due, pings what is quiet. Any byte from the peer since the last ping is a sign of life.
   */
  tick(nowMillis: number, heartbeat: () => Buffer): void {
    if (this.isEnded) return
    if (nowMillis >= this.subscription.expiresAtMillis) return this.end(closeReasons.tokenExpired)
    if (this.closeAtMillis !== null && nowMillis >= this.closeAtMillis) return this.end(closeReasons.terminal)
    if (this.isStalled(nowMillis)) return this.end(closeReasons.slowConsumer)
    if (nowMillis < this.heartbeatAt) return
    this.missedPings = this.isPingSent && this.tcp.bytesRead === this.bytesRead ? this.missedPings + 1 : 0
    if (this.missedPings >= maximumMisses) return this.end(closeReasons.heartbeat)
    this.isPingSent = true
    this.bytesRead = this.tcp.bytesRead
    this.heartbeatAt = nowMillis + heartbeatSeconds * 1000
    this.write(heartbeat())
    this.write(pingFrame)
  }

  private isStalled(nowMillis: number): boolean {
    const waiting = this.tcp.writableLength
    const left = waiting === 0 ? 0 : this.tcp.bytesWritten - waiting
    if (waiting === 0 || left !== this.progress) {
      this.progress = left
      this.progressAt = nowMillis
      return false
    }
    return nowMillis - this.progressAt >= stallMillis
  }

  /** Something waits: counts the frames, and ends the stream of a reader that is too far behind. */
  private checkBacklog(waiting: number): void {
    const behind = this.frameEnds ??= []
    behind.push(this.bytesWritten)
    const left = this.bytesWritten - waiting
    while (behind[0]! <= left) behind.shift()
    if (waiting > maximumBytesBehind || behind.length > maximumFramesBehind) this.end(closeReasons.slowConsumer)
  }

  private isRepeat(position: EventPosition | null): boolean {
    if (position === null || this.replayedUpTo === null) return false
    if (compareEventPositions(position, this.replayedUpTo) <= 0) return true
    this.replayedUpTo = null
    return false
  }
}
