/** Questions between the first process and one that serves HTTP, over the channel that Node opens between them. */
import { Effect, Latch, type Option, Predicate, type Scope } from "effect"

/** What one asks the other. */
export type Question = "metrics" | "health"

export type Answers = Readonly<Partial<Record<Question, Effect.Effect<unknown>>>>

/** The other process: `process` in one, the child in the other. */
export interface Peer {
  readonly send?: ((message: object, handle: undefined, options: undefined, done: () => void) => boolean) | undefined
  readonly on: (event: "message", listener: (message: unknown) => void) => unknown
  readonly off: (event: "message", listener: (message: unknown) => void) => unknown
}

export interface ProcessLink {
  /** None: the other process ended, is stopping, or did not answer in time. */
  readonly ask: (question: Question) => Effect.Effect<Option.Option<unknown>>
  /** Tells the other process that this one serves its port. */
  readonly announceServing: Effect.Effect<void>
  /** Waits until the other process serves its port. */
  readonly awaitServing: Effect.Effect<void>
}

/** Less than a scraper or a probe waits, and more than a busy process needs. */
const answerTimeoutMillis = 3_000

const isQuestion = (message: unknown): message is { readonly question: Question; readonly number: number } =>
  Predicate.hasProperty(message, "question")

const isAnswer = (message: unknown): message is { readonly answer: unknown; readonly number: number } =>
  Predicate.hasProperty(message, "answer")

/** Asks and answers until the scope closes. */
export const makeProcessLink = (peer: Peer, answers: Answers): Effect.Effect<ProcessLink, never, Scope.Scope> =>
  Effect.gen(function*() {
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const waiting = new Map<number, (answer: unknown) => void>()
    let questions = 0
    // A channel that closed meanwhile is no fault: nobody waits for the message any more.
    const send = (message: object) => void peer.send?.(message, undefined, undefined, () => undefined)
    const serving = yield* Latch.make()
    const receive = (message: unknown): void => {
      if (Predicate.hasProperty(message, "isServing")) return void serving.openUnsafe()
      if (isAnswer(message)) return waiting.get(message.number)?.(message.answer)
      if (!isQuestion(message)) return
      const { number, question } = message
      const answer = answers[question]
      if (answer !== undefined) run(Effect.map(answer, (value) => send({ answer: value, number })))
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => void peer.on("message", receive)),
      () => Effect.sync(() => void peer.off("message", receive))
    )
    const ask = (question: Question) =>
      Effect.callback<unknown>((resume) => {
        const number = questions++
        waiting.set(number, (answer) => resume(Effect.succeed(answer)))
        send({ question, number })
        return Effect.sync(() => void waiting.delete(number))
      }).pipe(Effect.timeoutOption(answerTimeoutMillis))
    return { ask, announceServing: Effect.sync(() => send({ isServing: true })), awaitServing: serving.await }
  })
