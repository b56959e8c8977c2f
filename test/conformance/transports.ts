/** What every webhook transport promises, whoever wrote it: a driver's test calls {@link transportConformance}. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer, type Scope } from "effect"
import { Webhook as Standard } from "standardwebhooks"
import { Webhook as Svix } from "svix"
import {
  deliverySecret,
  deliveryTo,
  transportChecks,
  transportOf as transportIn,
  type TransportSubject
} from "../../runtime/plugintesting/Transports.ts"
import type * as PublicWeb from "../../runtime/PublicWeb.ts"
import type { Settings } from "../../runtime/Settings.ts"
import type { DeliveryRequest, Webhooks } from "../../runtime/Webhooks.ts"
import { settingsOf } from "../support/WebhookSettings.ts"

export type { DeliveredRequest } from "../../runtime/plugintesting/Transports.ts"

/** A plugin's layer as far as a transport may need the runtime. */
export type TransportLayer = Layer.Layer<never, unknown, Webhooks | Settings | PublicWeb.PublicWeb>

/** The transport that a layer registers, for as long as the scope lives. */
export const transportOf = (layer: TransportLayer, settings: Settings["Service"] = settingsOf([])) =>
  transportIn(layer, settings)

/** An attempt of one event, signed as the deliverer signs. */
export const requestTo = (url: string, n = 1, more: Partial<DeliveryRequest> = {}): DeliveryRequest =>
  Effect.runSync(deliveryTo(url, n, more))

/**
 * Runs the suite, which plugins from outside have as `tillwire/plugin/testing`; and reads what arrived with the
 * libraries that receivers use. `start` makes the driver and whatever it delivers to.
 */
export const transportConformance = (name: string, start: Effect.Effect<TransportSubject, unknown, Scope.Scope>) =>
  describe(`transport ${name}`, () => {
    for (const check of transportChecks(start)) it.live(check.name, () => check.effect)

    it.live("delivers what the libraries of receivers verify", () =>
      Effect.gen(function*() {
        const subject = yield* start
        const transport = yield* transportOf(subject.layer as TransportLayer, settingsOf(subject.receivers ?? []))
        const request = yield* deliveryTo(subject.url)
        yield* transport.send(request)
        const [delivered] = yield* subject.delivered
        for (const library of [new Standard(deliverySecret), new Svix(deliverySecret)]) {
          assert.deepInclude(library.verify(delivered!.body, delivered!.headers), { id: request.eventId })
          assert.throws(() => library.verify(`${delivered!.body} `, delivered!.headers))
        }
      }).pipe(Effect.scoped))
  })
