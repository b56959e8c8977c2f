/**
 * One open socket, as the hub sees it. The `ws` library makes the handshake, reads, and closes; frames that were
 * rendered once are written to the same TCP socket directly. That is sound because without compression `ws` too writes
 * every frame whole in one turn, and it gives what its wrapper hides: bytes still buffered, bytes read, and pings.
 */
import type { Socket as TcpSocket } from "node:net"
import { Deferred, Exit } from "effect"
import { compareEventPositions, type EventPosition } from "../../schemas/Ids.ts"
import { type Ending, endings, heartbeatSeconds, heartbeatText, pingFrame, textFrame } from "./Frames.ts"

/** Frames that may wait for a slow reader (API reference, "Websocket"). */
export const maximumFramesBehind = 1_000

/** Bytes that may wait for a slow reader (reliability: dropped at 1 MB or 10 s). */
export const maximumBytesBehind = 1_048_576

/** How long a reader may take nothing while something waits. */
export const stallMillis = 10_000

/** Pings without a sign of life before a peer counts as gone (API reference, "Websocket"). */
const maximumMisses = 2

/** Messages a client may send in a second (API reference, "Websocket"). */
const maximumMessagesPerSecond = 10

interface Waiting {
  readonly position: EventPosition | null
  readonly frame: Buffer
}

export class Connection {
  readonly tcp: TcpSocket
  /** The version of the API its events are told in. */
  readonly apiVersion: string
  /** Epoch milliseconds at which the credential ends. */
  readonly expiresAtMillis: number
  /** Done once, with the reason why our side ends the stream. */
  readonly ended = Deferred.makeUnsafe<Ending>()
  /** When an invoice that reached its end lets its listeners go, epoch milliseconds. */
  closeAtMillis: number | null = null

  private over = false
  /** Live frames that wait until replay and greeting are written; null once they are. */
  private opening: Array<Waiting> | null = []
  /** The last stored event written by the replay: live events up to it are repeats. */
  private replayed: EventPosition | null = null
  private framesBehind = 0
  private progress = 0
  private progressAt: number
  private heartbeatAt: number
  private bytesRead: number
  private pinged = false
  private misses = 0
  private messages = 0
  private messagesSince = 0

  constructor(tcp: TcpSocket, apiVersion: string, expiresAtMillis: number, nowMillis: number) {
    this.tcp = tcp
    this.apiVersion = apiVersion
    this.expiresAtMillis = expiresAtMillis
    this.progressAt = nowMillis
    this.heartbeatAt = nowMillis + heartbeatSeconds * 1000
    this.bytesRead = tcp.bytesRead
  }

  /** Ends the stream from our side; the first reason counts. */
  end(ending: Ending): void {
    if (this.over) return
    this.over = true
    this.opening = null
    Deferred.doneUnsafe(this.ended, Exit.succeed(ending))
  }

  /** Sends a live frame; `position` is that of a stored event. */
  send(frame: Buffer, position: EventPosition | null): void {
    if (this.over) return
    if (this.opening !== null) {
      this.opening.push({ position, frame })
      if (this.opening.length > maximumFramesBehind) this.end(endings.slowConsumer)
    } else if (!this.isRepeat(position)) {
      this.write(frame)
    }
  }

  /** Writes at once, ahead of what waits for the opening. `flushed` is called when the bytes have left the process. */
  write(frame: Buffer, flushed?: () => void): void {
    if (this.over || !this.tcp.writable) return flushed?.()
    this.tcp.write(frame, flushed === undefined ? undefined : () => flushed())
    const bytes = this.tcp.writableLength
    this.framesBehind = bytes === 0 ? 0 : this.framesBehind + 1
    if (bytes > maximumBytesBehind || this.framesBehind > maximumFramesBehind) this.end(endings.slowConsumer)
  }

  /** The last words, written although the stream is over. */
  writeLast(frame: Buffer): void {
    if (this.tcp.writable) this.tcp.write(frame)
  }

  /** Live events up to `position` have been replayed. */
  replayedTo(position: EventPosition): void {
    this.replayed = position
  }

  /** Replay and greeting are written: what came meanwhile follows, without repeats, and then everything live. */
  opened(): void {
    const waiting = this.opening ?? []
    this.opening = null
    for (const { frame, position } of waiting) if (!this.isRepeat(position)) this.write(frame)
  }

  /** A message came in: answers `ws_ping`, ignores the rest, ends the stream of a client that sends too many. */
  received(isPing: boolean, nowMillis: number): void {
    if (nowMillis - this.messagesSince >= 1000) {
      this.messagesSince = nowMillis
      this.messages = 0
    }
    this.messages++
    if (this.messages > maximumMessagesPerSecond) return this.end(endings.tooManyMessages)
    if (isPing) this.write(textFrame(heartbeatText(Math.floor(nowMillis / 1000))))
  }

  /** Once a second: ends what is due, pings what is quiet. Any byte from the peer since the last ping is a sign of life. */
  tick(nowMillis: number, heartbeat: () => Buffer): void {
    if (this.over) return
    if (nowMillis >= this.expiresAtMillis) return this.end(endings.tokenExpired)
    if (this.closeAtMillis !== null && nowMillis >= this.closeAtMillis) return this.end(endings.terminal)
    const left = this.tcp.bytesWritten - this.tcp.writableLength
    if (this.tcp.writableLength === 0 || left !== this.progress) {
      this.progress = left
      this.progressAt = nowMillis
    } else if (nowMillis - this.progressAt >= stallMillis) {
      return this.end(endings.slowConsumer)
    }
    if (nowMillis < this.heartbeatAt) return
    this.misses = this.pinged && this.tcp.bytesRead === this.bytesRead ? this.misses + 1 : 0
    if (this.misses >= maximumMisses) return this.end(endings.heartbeat)
    this.pinged = true
    this.bytesRead = this.tcp.bytesRead
    this.heartbeatAt = nowMillis + heartbeatSeconds * 1000
    this.write(heartbeat())
    this.write(pingFrame)
  }

  private isRepeat(position: EventPosition | null): boolean {
    return position !== null && this.replayed !== null && compareEventPositions(position, this.replayed) <= 0
  }
}
