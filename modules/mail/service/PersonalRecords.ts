/** Messages that a customer is to get, in exports and erasures. What was sent is not kept. */
import { Effect } from "effect"
import { PersonalData } from "../../../runtime/PersonalData.ts"
import { Secrets } from "../../../runtime/Secrets.ts"
import { makeRepo } from "../repo.ts"
import { openContent } from "./Contents.ts"

const partSize = 100

export const registerPersonalRecords = Effect.gen(function*() {
  const repo = yield* makeRepo
  const secrets = yield* Secrets
  yield* (yield* PersonalData).register({
    name: "mail",
    records: Effect.fnUntraced(function*(person, after) {
      const waiting = yield* repo.ofCustomer(person, after, partSize)
      return {
        records: waiting.map(({ created_at, id, kind, sealed_content }) => ({
          kind: "mail_message",
          data: { id, kind, to: openContent(secrets, sealed_content)?.to ?? null, created_at: Number(created_at) }
        })),
        next: waiting.length < partSize ? null : waiting.at(-1)!.id
      }
    }),
    obstacle: () => Effect.succeed(null),
    erase: (person) => Effect.as(repo.eraseOfCustomer(person), null)
  })
})
