/** Goal: with the driver `none` everybody passes. Method: the conformance suite of screening. */
import { Effect } from "effect"
import { plugin } from "../../../../modules/screening/drivers/none.ts"
import { screeningConformance, type ScreeningLayer } from "../../../conformance/screenings.ts"

screeningConformance(
  "none",
  Effect.succeed({ layer: plugin.layer(undefined as never) as ScreeningLayer, listed: [] })
)
