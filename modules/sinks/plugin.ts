/** Sinks: every event also in a place outside, where others read it. Drivers are in `modules/sinks/drivers/`. */
import * as Plugin from "../../runtime/Plugin.ts"
import { migrations, tables } from "./migrations.ts"
import { EventSinks } from "./service.ts"

export { EventSinks } from "./service.ts"
export { type EventSink, type SinkEvent, SinkUnavailable } from "./service/EventSink.ts"

export const plugin = Plugin.make({
  name: "sinks",
  slot: "modules",
  migrations,
  tables,
  layer: () => EventSinks.layer
})
