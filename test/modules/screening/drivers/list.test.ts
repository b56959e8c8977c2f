/**
 * Goal: the file of addresses is what holds, from the start and after each change, and no broken file lets an address
 * pass that was listed before. Method: the conformance suite of screening, and a real file that the test changes.
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Logger, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { plugin } from "../../../../modules/screening/drivers/list.ts"
import { ConfigInvalid } from "../../../../runtime/Config.ts"
import { screeningConformance, type ScreeningLayer, screeningOf } from "../../../conformance/screenings.ts"
import { temporaryDirectory } from "../../../support/Service.ts"

const evm = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
const otherEvm = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
const solana = "4wBqpZM9xaSheZzJSMawUKKwhdpChKbZ5eu5ky4Vigw"
const ton = "EQCD39VS5jcptHL8vMjEXrzGaRcCVYto7HUn4bpAOg8xqB2N"
const tonRaw = "0:83dfd552e63729b472fcbcc8c45ebcc6691702558b68ec7527e1ba403a0f31a8"

const driver = (file: string): ScreeningLayer => plugin.layer({ file, checkSeconds: 5 }) as ScreeningLayer

const fileWith = (text: string): Effect.Effect<string, never, Scope.Scope> =>
  Effect.map(temporaryDirectory, (directory) => {
    const file = join(directory, "screened.txt")
    writeFileSync(file, text)
    return file
  })

/** Puts another file in the place of one at once: a look that is under way must not find it empty. */
const replaceFile = (file: string, text: string): void => {
  writeFileSync(`${file}.new`, text)
  renameSync(`${file}.new`, file)
}

screeningConformance(
  "list",
  Effect.map(fileWith(`# examples\r\nethereum ${evm} # a note\r\n\r\nsolana\t${solana}\r\nton ${ton}`), (file) => ({
    layer: driver(file),
    listed: [
      { network: "ethereum", spellings: [evm, evm.toLowerCase()] },
      { network: "solana", spellings: [solana] },
      { network: "ton", spellings: [ton, tonRaw] }
    ]
  }))
)

/** Lets the driver look at the file; what it reads from the disk may still be under way. */
const lookOnce = Effect.andThen(
  TestClock.adjust("5 seconds"),
  Effect.promise(() => new Promise((resume) => setImmediate(resume)))
)

/** Has the driver look until it has seen what the test waits for: the clock of the test alone moves its time. */
const lookUntil = <E>(done: Effect.Effect<boolean, E>): Effect.Effect<void, E> =>
  Effect.flatMap(done, (is) => is ? Effect.void : Effect.andThen(lookOnce, Effect.suspend(() => lookUntil(done))))

describe("the file of screened addresses", () => {
  it.effect("is read again when it has changed, without a restart", () =>
    Effect.gen(function*() {
      const file = yield* fileWith(`base ${evm}\n`)
      const { isListed } = yield* screeningOf(driver(file))
      assert.isFalse(yield* isListed("base", "mainnet", [otherEvm]))
      replaceFile(file, `base ${evm}\nbase ${otherEvm}\n`)
      yield* lookUntil(isListed("base", "mainnet", [otherEvm]))
      assert.isTrue(yield* isListed("base", "mainnet", [evm]))
      replaceFile(file, `base ${otherEvm} # the first one is off the list\n`)
      yield* lookUntil(Effect.map(isListed("base", "mainnet", [evm]), (is) => !is))
      assert.isTrue(yield* isListed("base", "mainnet", [otherEvm]))
    }))

  it.effect("that is broken or gone changes nothing, is told of as an error once, and holds again when it is mended", () =>
    Effect.gen(function*() {
      const errors: Array<string> = []
      const logs = Logger.layer([
        Logger.make(({ logLevel, message }) => {
          if (logLevel === "Error") errors.push(String(message))
        })
      ])
      yield* Effect.gen(function*() {
        const file = yield* fileWith(`base ${evm}\n`)
        const { isListed } = yield* screeningOf(driver(file))
        const keepsTheList = Effect.gen(function*() {
          for (let look = 0; look < 3; look++) yield* lookOnce
          assert.isTrue(yield* isListed("base", "mainnet", [evm]))
        })
        replaceFile(file, `base ${otherEvm}\nbase 0x123\n`)
        yield* lookUntil(Effect.sync(() => errors.length === 1))
        yield* keepsTheList
        assert.isFalse(yield* isListed("base", "mainnet", [otherEvm]), "no half of a file holds")
        assert.include(errors[0], "line 2 (base 0x123): \"0x123\" is no address of base")
        rmSync(file)
        yield* lookUntil(Effect.sync(() => errors.length === 2))
        yield* keepsTheList
        assert.include(errors[1], "it is not there")
        replaceFile(file, "# being written\n")
        yield* lookUntil(Effect.sync(() => errors.length === 3))
        yield* keepsTheList
        assert.include(errors[2], "it has no address")
        replaceFile(file, `base ${otherEvm}\n`)
        yield* lookUntil(isListed("base", "mainnet", [otherEvm]))
        assert.lengthOf(errors, 3)
      }).pipe(Effect.provide(logs))
    }))

  it.effect("that is missing or broken ends the start as an error of the config that names the fix", () =>
    Effect.gen(function*() {
      const refused = Effect.fnUntraced(function*(file: string, says: string) {
        const exit = yield* Effect.exit(screeningOf(driver(file)))
        const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : "it started"
        assert.instanceOf(error, ConfigInvalid)
        assert.include((error as ConfigInvalid).message, `${file}: ${says}`)
      })
      yield* refused(`${yield* temporaryDirectory}/none.txt`, "it is not there, or may not be read: create it")
      yield* refused(yield* fileWith("\n# nothing\n"), "it has no address: write one a line")
      yield* refused(yield* fileWith(`etherium ${evm}\n`), "line 1 (etherium 0xf39")
      yield* refused(yield* fileWith(`base ${evm} ${otherEvm}\n`), "line 1 (base 0xf39")
      yield* refused(yield* fileWith(`base ${solana}\n`), `line 1 (base ${solana}): "${solana}" is no address of base`)
      yield* refused(yield* temporaryDirectory, "it ")
    }))
})
