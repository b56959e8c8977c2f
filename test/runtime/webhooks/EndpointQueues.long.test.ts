/**
 * Goal: whatever is claimed, answered, written and given back in whatever order, an instance sends no more than it may,
 * no row twice, none too late, and forgets none.
 * Method: random steps against a model of the database that claims as `webhook_claim_v2` does.
 */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { AttemptOutcome } from "../../../runtime/webhooks/RetryPolicy.ts"
import { isQuick } from "../../../runtime/webhooks/EndpointQueue.ts"
import {
  EndpointQueues,
  type FinishedDelivery,
  maximumHeld,
  maximumOtherHeld,
  maximumUnwritten
} from "../../../runtime/webhooks/EndpointQueues.ts"
import type { FreeSlots } from "../../../runtime/webhooks/Places.ts"
import type { WantedEndpoint } from "../../../runtime/webhooks/DeliveryExchange.ts"
import {
  type ClaimedDelivery,
  type EndpointKey,
  maximumFailingInFlight,
  maximumHeldPerEndpoint,
  maximumMovedInFlight,
  maximumOtherInFlight,
  maximumQuickInFlight,
  slowMillis
} from "../../../runtime/webhooks/DeliveryRepo.ts"

/** The same numbers for the same seed. */
const randomOf = (seed: number) => {
  let state = seed | 0
  return (below: number): number => {
    state = state + 0x6d2b79f5 | 0
    let mixed = Math.imul(state ^ state >>> 15, 1 | state)
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed
    return ((mixed ^ mixed >>> 14) >>> 0) % below
  }
}

const rowOf = (id: string, endpoint: Partial<ClaimedDelivery["endpoint"]>): ClaimedDelivery =>
  ({
    id,
    endpoint: {
      endpointId: "we_1",
      merchantId: 1,
      token: 1n,
      claims: 1n,
      single: false,
      health: "healthy",
      isSlow: false,
      hasMore: false,
      ...endpoint
    }
  }) as ClaimedDelivery

interface Endpoint {
  readonly id: string
  readonly merchantId: number
  health: "unknown" | "healthy" | "failing"
  isSlow: boolean
  ordered: boolean
  token: bigint
  claims: bigint
  readonly due: Array<string>
}

/** Endpoints with rows that are due, and claims of them for one instance. */
const makeDatabase = () => {
  const endpoints = new Map<string, Endpoint>()
  let rows = 0
  return {
    endpoints,
    enqueue: (endpoint: Endpoint) => endpoint.due.push(`${endpoint.id}/${rows++}`),
    finish: ({ endpoint: { endpointId }, id }: ClaimedDelivery) => {
      const { due } = endpoints.get(endpointId)!
      due.splice(due.indexOf(id), 1)
    },
    /** Endpoints with something due that is not held, but for those that can take nothing. */
    waiting: (merchants: ReadonlyArray<number> | null, full: ReadonlyArray<string>) =>
      [...endpoints.values()].filter(({ due, id, merchantId }) =>
        due.length > 0 && merchants?.includes(merchantId) !== false && !full.includes(id)
      ).map(({ id, merchantId }) => ({ endpointId: id, merchantId })),
    claim: (wanted: ReadonlyArray<WantedEndpoint>, free: FreeSlots) => {
      let { failingSlots, otherSlots, slots } = free
      const share = Math.max(4, Math.floor(slots / Math.max(1, wanted.length)))
      return wanted.flatMap(({ endpointId, held, ...known }): ReadonlyArray<ClaimedDelivery> => {
        const endpoint = endpoints.get(endpointId)!
        const { due, health, ordered } = endpoint
        const well = health === "healthy"
        const count = held.length
        const isSlow = endpoint.isSlow || known.isSlow
        const most = isQuick({ health, isSlow })
          ? Math.min(maximumHeldPerEndpoint - count, share, slots)
          : Math.min((well && !ordered ? 4 : 1) - count, otherSlots, health === "failing" ? failingSlots : otherSlots)
        const found = most <= 0 || ordered && count > 0 ? [] : due.filter((row) => !held.includes(row)).slice(0, most)
        if (found.length === 0) return []
        if (isQuick({ health, isSlow })) slots -= found.length
        else otherSlots -= found.length
        if (health === "failing") failingSlots -= found.length
        endpoint.claims++
        return found.map((row) =>
          rowOf(row, {
            endpointId,
            merchantId: endpoint.merchantId,
            token: endpoint.token,
            claims: endpoint.claims,
            health,
            isSlow,
            single: ordered || !well,
            hasMore: found.length === most
          })
        )
      })
    }
  }
}

const leaseMillis = 15_000

/** An instance as the deliverer drives it, that checks every promise at each step. */
const makeInstance = (random: (below: number) => number) => {
  const database = makeDatabase()
  const lanes = new EndpointQueues()
  const woken = new Map<string, EndpointKey>()
  const held = new Map<string, ClaimedDelivery>()
  const sending: Array<ClaimedDelivery> = []
  const gathered: Array<FinishedDelivery & { readonly done: boolean }> = []
  const inFlight = (id: string) => sending.filter(({ endpoint }) => endpoint.endpointId === id)
  const done = new Set<string>()
  let scan = false
  let now = 1_000_000
  const sentMillis = new Map<ClaimedDelivery, number>()
  const sendBy = new Map<string, number>()

  const heldOf = (id: string) => [...held.values()].filter(({ endpoint }) => endpoint.endpointId === id)

  const giveBack = (rows: ReadonlyArray<ClaimedDelivery>, wasSent = false) =>
    rows.forEach((delivery) => gathered.push({ delivery, wasSent, isReleased: true, done: false }))

  const wakeUp = (endpoint: EndpointKey) => {
    if (lanes.canClaim(endpoint.endpointId)) woken.set(endpoint.endpointId, endpoint)
  }

  const leave = (claimed: ClaimedDelivery, outcome: AttemptOutcome | null) => {
    giveBack(lanes.finish(claimed, outcome, now))
    if (outcome !== "succeeded") wakeUp(claimed.endpoint)
  }

  const check = () => {
    assert.isAtMost(sending.length, maximumQuickInFlight + maximumMovedInFlight)
    assert.isAtMost(
      gathered.filter(({ wasSent }) => wasSent).length,
      maximumUnwritten + maximumQuickInFlight + maximumMovedInFlight
    )
    assert.isAtMost(
      sending.filter(({ endpoint }) => endpoint.health === "failing").length,
      maximumFailingInFlight
    )
    const { failingSlots, otherSlots, slots } = lanes.freeSlots()
    assert.isTrue([slots, otherSlots, failingSlots].every((free) => free >= 0))
    assert.isAtMost(slots + otherSlots, maximumHeld + maximumOtherHeld)
    for (const rows of Map.groupBy(sending, ({ endpoint }) => endpoint.endpointId).values()) {
      assert.isAtMost(rows.length, 4)
    }
    for (const rows of Map.groupBy(held.values(), ({ endpoint }) => endpoint.endpointId).values()) {
      assert.isAtMost(rows.length, maximumHeldPerEndpoint)
    }
  }

  const pump = () => {
    for (let claimed = lanes.next(now); claimed !== undefined; claimed = lanes.next(now)) {
      if (lanes.isLate(claimed, now)) {
        leave(claimed, null)
        giveBack([claimed], true)
        continue
      }
      assert.isAtLeast(sendBy.get(claimed.endpoint.endpointId)!, now, "sent past its lease")
      assert.strictEqual(
        claimed.endpoint.token,
        database.endpoints.get(claimed.endpoint.endpointId)!.token,
        "sent though another had the lane"
      )
      assert.isFalse(done.has(claimed.id), "sent twice")
      if (claimed.endpoint.single) {
        const { endpointId, token } = claimed.endpoint
        assert.lengthOf(inFlight(endpointId).filter(({ endpoint }) => endpoint.token === token), 0)
      }
      sending.push(claimed)
      sentMillis.set(claimed, now)
    }
  }

  /** As the database answers a claim of `wanted`. */
  const take = (wanted: ReadonlyArray<WantedEndpoint>, free: FreeSlots) => {
    const claimed = database.claim(wanted, free)
    // As the deliverer: others may wait whom nobody will wake. Those that are not quick are found each second.
    const quick = claimed.filter(({ endpoint }) => isQuick(endpoint)).length
    const failing = claimed.filter(({ endpoint }) => endpoint.health === "failing").length
    scan ||= quick === free.slots || claimed.length - quick === free.otherSlots || failing === free.failingSlots
    for (const row of claimed) {
      assert.isFalse(held.has(row.id), "claimed twice")
      held.set(row.id, row)
      sendBy.set(row.endpoint.endpointId, now + leaseMillis)
    }
    lanes.add(claimed, now + leaseMillis)
  }

  const claim = (everyone: boolean) => {
    const free = lanes.freeSlots()
    if (free.slots === 0) {
      scan ||= everyone
      return
    }
    const endpoints = everyone ? database.waiting(null, lanes.fullEndpoints()) : [...woken.values()]
    if (everyone) scan = false
    else woken.clear()
    // Those left out are found by the look of each second.
    const wanted = lanes.wanted(endpoints, [])
    scan ||= wanted.length < endpoints.length
    take(wanted, free)
    pump()
    check()
  }

  const answer = (well: boolean) => {
    const [delivery] = sending.splice(random(sending.length), 1)
    if (delivery === undefined) return
    leave(delivery, well ? "succeeded" : "failed")
    const endpoint = database.endpoints.get(delivery.endpoint.endpointId)!
    // A late result changes nothing: its row is another's.
    const counts = delivery.endpoint.token === endpoint.token
    if (counts) {
      done.add(delivery.id)
      endpoint.health = well ? "healthy" : "failing"
      endpoint.isSlow = now - sentMillis.get(delivery)! > slowMillis
    }
    gathered.push({ delivery, wasSent: true, isReleased: false, done: counts })
    pump()
  }

  /** Results are written, and more is claimed of those that it makes room for, in one call. */
  const write = () => {
    const ended = gathered.splice(0)
    const free = lanes.freeSlots(ended)
    const wanted = free.slots === 0 ? [] : lanes.wanted([], ended)
    const emptied = new Set(lanes.leasesToRelease(ended).map(({ endpointId }) => endpointId))
    const endedIds = new Set(ended.map(({ delivery }) => delivery.id))
    for (const endpointId of new Set(ended.map(({ delivery }) => delivery.endpoint.endpointId))) {
      assert.strictEqual(emptied.has(endpointId), heldOf(endpointId).every(({ id }) => endedIds.has(id)))
    }
    for (const { delivery, done, wasSent } of ended) {
      if (done) database.finish(delivery)
      // Dropped by the fence: found by the look of each second.
      else scan ||= wasSent
      held.delete(delivery.id)
    }
    for (const row of ended) {
      const low = lanes.markWritten(row)
      if (low !== undefined) woken.set(low.endpointId, low)
    }
    take(wanted, free)
    pump()
    check()
  }

  return {
    database,
    woken,
    held,
    claim,
    answer,
    write,
    check,
    lanes,
    isScanDue: () => scan,
    isBusy: () => sending.length > 0 || gathered.length > 0,
    enqueue: (endpoint: Endpoint) => {
      database.enqueue(endpoint)
      wakeUp({ endpointId: endpoint.id, merchantId: endpoint.merchantId })
    },
    wake: (merchantId?: number) => {
      const rows = lanes.releaseWaiting(merchantId)
      giveBack(rows)
      for (const { endpoint } of rows) wakeUp(endpoint)
    },
    pass: (millis: number) => {
      now += millis
    },
    moveSlow: () => {
      giveBack(lanes.moveSlow(now))
      pump()
      check()
    },
    inFlight,
    /** Another instance took a lane, sent its oldest row, and let go of it. */
    lose: (endpoint: Endpoint) => {
      endpoint.token++
      const row = endpoint.due[0]
      if (row === undefined) return
      done.add(row)
      endpoint.due.shift()
    },
    renew: () => {
      const asked = lanes.leasesExpiringBy(now + 8_000)
      const kept = new Set(
        asked.map(({ endpointId, token }) => ({ endpointId, token }))
          .filter(({ endpointId, token }) => database.endpoints.get(endpointId)!.token === token && random(8) > 0)
          .map(({ endpointId }) => endpointId)
      )
      for (const id of kept) sendBy.set(id, now + leaseMillis)
      giveBack(lanes.extendLeases(asked, kept, now + leaseMillis))
    },
    expiring: () => lanes.leasesExpiringBy(now + 8_000)
  }
}

const endpointsOf = (instance: ReturnType<typeof makeInstance>, amount: number, random: (below: number) => number) =>
  Array.from({ length: amount }, (_, n): Endpoint => {
    const endpoint: Endpoint = {
      id: `we_${n}`,
      merchantId: n % 7,
      health: random(3) === 0 ? "failing" : random(4) === 0 ? "unknown" : "healthy",
      isSlow: false,
      ordered: random(4) === 0,
      token: 1n,
      claims: 0n,
      due: []
    }
    instance.database.endpoints.set(endpoint.id, endpoint)
    return endpoint
  })

describe("an instance", () => {
  it.prop("keeps every limit, sends nothing twice or too late, and leaves no row behind", [Schema.Int], ([seed]) => {
    const random = randomOf(seed)
    const instance = makeInstance(random)
    const endpoints = endpointsOf(instance, 1 + random(40), random)
    const good = 1 + random(10)
    const any = () => endpoints[random(endpoints.length)]!
    for (let step = 0; step < 300; step++) {
      const choice = random(100)
      if (choice < 25) { for (let n = random(20); n >= 0; n--) instance.enqueue(any()) }
      else if (choice < 40) instance.claim(random(3) === 0)
      else if (choice < 80) { for (let n = random(12); n >= 0; n--) instance.answer(random(10) < good) }
      else if (choice < 93) instance.write()
      else if (choice < 94) instance.wake(random(7))
      else if (choice < 95) instance.moveSlow()
      else if (choice < 97) instance.pass(random(6_000))
      else if (choice < 99) instance.renew()
      else {
        instance.pass(30_001)
        instance.lose(any())
      }
    }
    // Whoever is told claims, until nobody is: nothing of what waits is found by luck.
    for (
      let turn = 0;
      turn < 20_000 && (instance.isBusy() || instance.woken.size > 0 || instance.isScanDue());
      turn++
    ) {
      instance.answer(true)
      if (turn % 3 === 0) instance.write()
      if (instance.isScanDue() || instance.woken.size > 0) instance.claim(instance.isScanDue())
    }
    assert.deepStrictEqual([...instance.held.keys()], [])
    assert.deepStrictEqual(
      [instance.lanes.freeSlots(), instance.expiring().length],
      [{ slots: maximumHeld, otherSlots: maximumOtherHeld, failingSlots: maximumFailingInFlight }, 0]
    )
    assert.deepStrictEqual(endpoints.flatMap(({ due }) => due), [])
  }, { arbitrary: { runs: 25 } })

  it("fills its 64 slots with four of each endpoint, and serves endpoints in turn", () => {
    const instance = makeInstance(randomOf(1))
    const endpoints = endpointsOf(instance, 40, () => 1)
    for (const endpoint of endpoints) for (let n = 0; n < 12; n++) instance.enqueue(endpoint)
    instance.claim(true)
    const { lanes } = instance
    assert.isUndefined(lanes.next(0))
    const sent = lanes.sentBetween(0, Infinity)
    assert.lengthOf(sent, 64)
    const each = Map.groupBy(sent, ({ endpoint }) => endpoint.endpointId)
    // 64 are 24 endpoints with two and 16 with one: nobody gets a third before all have had theirs.
    assert.strictEqual(each.size, 40)
    assert.deepStrictEqual(new Set([...each.values()].map(({ length }) => length)), new Set([1, 2]))
  })

  it.prop("sends what a quick endpoint waits for within a second, whatever new, slow and failing ones do", [
    Schema.Int
  ], ([seed]) => {
    const random = randomOf(seed)
    const instance = makeInstance(random)
    const others = endpointsOf(instance, 16 + random(84), random)
    // Many are as good as the one that waits, until they stop to answer.
    const isHealthy = random(2) === 0
    for (const endpoint of others) {
      if (isHealthy) endpoint.health = "healthy"
      endpoint.isSlow = random(3) === 0
      for (let n = random(40); n >= 0; n--) instance.enqueue(endpoint)
    }
    for (let step = random(40); step >= 0; step--) {
      instance.claim(random(2) === 0)
      if (random(2) === 0) instance.answer(random(2) === 0)
      if (random(4) === 0) instance.write()
    }
    const quick: Endpoint = {
      id: "we_quick",
      merchantId: 9,
      health: "healthy",
      isSlow: false,
      ordered: false,
      token: 1n,
      claims: 0n,
      due: []
    }
    instance.database.endpoints.set(quick.id, quick)
    instance.enqueue(quick)
    // Nobody answers any more.
    instance.claim(false)
    instance.pass(slowMillis + 1)
    for (let step = 0; step < 2; step++) {
      instance.moveSlow()
      instance.write()
      instance.claim(false)
    }
    assert.lengthOf(instance.inFlight(quick.id), 1)
  }, { arbitrary: { runs: 50 } })

  it("gives the 64 places of quick endpoints to nobody else, and the others 256 of their own, in turn", () => {
    const lanes = new EndpointQueues()
    const claim = (name: string, amount: number, each: number, endpoint: Partial<ClaimedDelivery["endpoint"]>) =>
      lanes.add(
        Array.from(
          { length: amount * each },
          (_, n) => rowOf(`${name}${n}`, { ...endpoint, endpointId: name + n % amount })
        ),
        15_000
      )
    claim("failing", 16, 1, { health: "failing", single: true })
    claim("new", 100, 1, { health: "unknown", single: true })
    claim("slow", 60, 4, { isSlow: true })
    claim("quick", 30, 4, {})
    const sent: Array<ClaimedDelivery> = []
    for (let row = lanes.next(0); row !== undefined; row = lanes.next(0)) sent.push(row)
    const count = (name: string) => sent.filter(({ id }) => id.startsWith(name)).length
    assert.deepStrictEqual(["quick", "failing", "new", "slow"].map(count), [64, 16, 100, 140])
    assert.strictEqual(64 + 256, sent.length)
    const perSlow = Map.groupBy(sent.filter(({ endpoint }) => endpoint.isSlow), ({ endpoint }) => endpoint.endpointId)
    assert.deepStrictEqual(new Set([...perSlow.values()].map(({ length }) => length)), new Set([2, 3]))
    assert.strictEqual(sent.findIndex(({ id }) => id.startsWith("slow")), 64 + 116)
  })

  it("frees the places of an endpoint that takes long, gives back what waits of it, and claims four of it at most", () => {
    const lanes = new EndpointQueues()
    lanes.add(Array.from({ length: 10 }, (_, n) => rowOf(`a${n}`, {})), 15_000)
    const first = lanes.next(0)!
    while (lanes.next(10) !== undefined);
    assert.deepStrictEqual(lanes.moveSlow(slowMillis), [])
    const waiting = lanes.moveSlow(slowMillis + 1)
    assert.deepStrictEqual(waiting.map(({ id }) => id), ["a4", "a5", "a6", "a7", "a8", "a9"])
    assert.deepStrictEqual(lanes.moveSlow(slowMillis + 2), [], "once")
    for (const delivery of waiting) lanes.markWritten({ delivery, wasSent: false, isReleased: true })
    assert.deepStrictEqual(lanes.fullEndpoints(), ["we_1"])
    assert.isFalse(lanes.canClaim("we_1"))
    assert.deepStrictEqual(lanes.freeSlots(), {
      slots: maximumHeld,
      otherSlots: maximumOtherHeld - 4,
      failingSlots: 16
    })
    lanes.add(Array.from({ length: 64 }, (_, n) => rowOf(`b${n}`, { endpointId: `we_b${n}` })), 15_000)
    const moved = Array.from({ length: 64 }, () => lanes.next(2_000))
    assert.notInclude(moved, undefined, "all of the quick places are free")
    // An answer that came late says the same of the endpoint, one that came soon ends it; what is on its way may not.
    lanes.finish(first, "succeeded", 2_000)
    const written = { delivery: first, wasSent: true, isReleased: false }
    const wanted = lanes.wanted([{ merchantId: 1, endpointId: "we_1" }], [written])
    assert.deepStrictEqual(wanted, [{ endpointId: "we_1", merchantId: 1, held: ["a1", "a2", "a3"], isSlow: true }])
    lanes.markWritten(written)
    lanes.add([rowOf("a4", { isSlow: true })], 15_000)
    const again = lanes.next(2_000)!
    assert.strictEqual(again.id, "a4", "of the places of others")
    lanes.finish(again, "succeeded", 2_010)
    assert.isTrue(lanes.wanted([{ merchantId: 1, endpointId: "we_1" }], []).every(({ isSlow }) => isSlow))
    for (const delivery of lanes.sentBetween(0, 11)) lanes.finish(delivery, "succeeded", slowMillis + 10)
    assert.isTrue(lanes.wanted([{ merchantId: 1, endpointId: "we_1" }], []).every(({ isSlow }) => !isSlow))
  })

  it("claims nothing of others while they hold all they may, and of quick endpoints all the same", () => {
    const lanes = new EndpointQueues()
    const slow = (n: number, more: Partial<ClaimedDelivery["endpoint"]> = {}) =>
      rowOf(`slow${n}`, { endpointId: `slow${n % 130}`, isSlow: true, ...more })
    lanes.add(Array.from({ length: maximumOtherHeld - 127 }, (_, n) => slow(n)), 15_000)
    assert.deepStrictEqual(lanes.freeSlots(), { slots: maximumHeld, otherSlots: 0, failingSlots: 16 })
    assert.isFalse(lanes.canClaim("slow129"))
    assert.includeMembers([...lanes.fullEndpoints()], ["slow129"])
    assert.isTrue(lanes.canClaim("quick"))
    const key = (endpointId: string) => ({ endpointId, merchantId: 1 })
    assert.deepStrictEqual(lanes.wanted([key("slow129"), key("quick")], []).map(({ endpointId }) => endpointId), [
      "quick"
    ])
  })

  it("lets no more attempts move to the places of others than are as many again", () => {
    const lanes = new EndpointQueues()
    let now = 0
    const sent = () => {
      let count = 0
      while (lanes.next(now) !== undefined) count++
      return count
    }
    lanes.add(Array.from({ length: 256 }, (_, n) => rowOf(`a${n}`, { endpointId: `we_a${n}`, isSlow: true })), 15_000)
    let total = sent()
    for (let round = 0; round < 8; round++) {
      lanes.add(
        Array.from({ length: 64 }, (_, n) => rowOf(`${round}/${n}`, { endpointId: `we_${round}/${n}` })),
        15_000
      )
      total += sent()
      now += slowMillis + 1
      for (const delivery of lanes.moveSlow(now)) lanes.markWritten({ delivery, wasSent: false, isReleased: true })
    }
    assert.strictEqual(total, maximumQuickInFlight + maximumMovedInFlight)
    assert.strictEqual(maximumMovedInFlight, 2 * maximumOtherInFlight)
  })

  it("gives what waits behind a failure back, and sends nothing more of that endpoint", () => {
    const instance = makeInstance(randomOf(1))
    const [endpoint] = endpointsOf(instance, 1, () => 1)
    for (let n = 0; n < 12; n++) instance.enqueue(endpoint!)
    instance.claim(true)
    const [first] = instance.lanes.sentBetween(0, Infinity)
    assert.lengthOf(instance.lanes.finish(first!, "timed_out", 1_000_000), 8)
    assert.isUndefined(instance.lanes.next(1_000_000))
  })

  it("sends one at a time after a failure until that is written, and four again to who answers well all the same", () => {
    const lanes = new EndpointQueues()
    const claim = (...ids: ReadonlyArray<string>) => lanes.add(ids.map((id) => rowOf(id, {})), 15_000)
    const sent = () => {
      while (lanes.next(0) !== undefined);
      return lanes.sentBetween(0, 1)
    }
    claim("a", "b", "c", "d", "e")
    const [first, second, third] = sent()
    assert.deepStrictEqual(lanes.finish(first!, "failed", 0).map(({ id }) => id), ["e"])
    claim("f", "g")
    assert.deepStrictEqual(sent().map(({ id }) => id), ["b", "c", "d"])
    lanes.markWritten({ delivery: first!, wasSent: true, isReleased: false })
    lanes.finish(second!, "succeeded", 0)
    lanes.finish(third!, "succeeded", 0)
    assert.deepStrictEqual(sent().map(({ id }) => id), ["d"])
    claim("h", "i", "j")
    assert.deepStrictEqual(sent().map(({ id }) => id), ["d", "f", "g", "h"])
  })

  it("sends nothing of what it held of a lane that was another's meanwhile, though it has the lane again", () => {
    const lanes = new EndpointQueues()
    const row = (id: string, token: bigint) => rowOf(id, { token, claims: token, single: true })
    lanes.add([row("a", 1n), row("b", 1n)], 15_000)
    const first = lanes.next(0)!
    lanes.add([row("c", 3n)], 55_000)
    lanes.finish(first, "succeeded", 0)
    const second = lanes.next(40_000)!
    assert.deepStrictEqual([second.id, lanes.isLate(second, 40_000)], ["b", true])
    assert.deepStrictEqual(lanes.finish(second, null, 40_000).map(({ id }) => id), ["c"])
    lanes.add([row("d", 3n)], 55_000)
    const third = lanes.next(40_000)!
    assert.deepStrictEqual([third.id, lanes.isLate(third, 40_000), lanes.isLate(third, 55_001)], ["d", false, true])
  })
})
