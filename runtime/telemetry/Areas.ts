/**
 * The parts of the service by which `telemetry.levels` sets levels of the log: folders of `runtime/` and `modules/`.
 * Each part is built inside of its area once; what it starts inherits that, so no entry has to name it.
 */
import { Effect, Layer, type LogLevel, References } from "effect"
import type { Slot } from "../Plugin.ts"
import type { SettingsValue } from "../Settings.ts"

/** Areas of the kernel. A driver is in the area of its port: what `modules/chains/evm.ts` says is of `chains`. */
export const kernelAreas = [
  "chains",
  "commit",
  "eventbus",
  "http",
  "leases",
  "prices",
  "rpc",
  "secrets",
  "sockets",
  "store",
  "timers",
  "tokencatalog",
  "webhooks"
] as const
export type KernelArea = (typeof kernelAreas)[number]

const areaOfSlot: Readonly<Record<Exclude<Slot, "modules">, string>> = {
  chains: "chains",
  prices: "prices",
  signIns: "signins",
  tokenSources: "tokencatalog",
  transports: "webhooks"
}

/** The area of a plugin: its port's, or for a module its own name, without that of its driver. */
export const areaOfPlugin = ({ name, slot }: { readonly name: string; readonly slot: Slot }): string =>
  slot === "modules" ? name.split("/")[0]! : areaOfSlot[slot]

const effectLevels: Readonly<Record<SettingsValue["telemetry"]["level"], LogLevel.LogLevel>> = {
  debug: "Debug",
  info: "Info",
  warn: "Warn",
  error: "Error"
}

/** A level of the config as Effect names it. */
export const logLevelOf = (level: SettingsValue["telemetry"]["level"]): LogLevel.LogLevel => effectLevels[level]

type Levels = Pick<SettingsValue["telemetry"], "level" | "levels">

/** The level of an area: its own, else that of all. */
export const levelOf = ({ level, levels }: Levels, area: string): LogLevel.LogLevel => logLevelOf(levels[area] ?? level)

/** Builds a layer inside of an area: entries of all that it starts have the field `area` and the area's level. */
export const inArea =
  (telemetry: Levels, area: string) => <A, E, R>(layer: Layer.Layer<A, E, R>): Layer.Layer<A, E, R> =>
    Layer.provide(
      layer,
      Layer.mergeAll(
        Layer.succeed(References.MinimumLogLevel, levelOf(telemetry, area)),
        Layer.effect(
          References.CurrentLogAnnotations,
          Effect.map(References.CurrentLogAnnotations, (annotations) => ({ ...annotations, area }))
        )
      )
    )
