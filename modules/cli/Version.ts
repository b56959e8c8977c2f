/** The version of the package that this command belongs to. */
import { readFileSync } from "node:fs"

/** Beside the sources of a checkout, and in the folder of a bundle. */
const manifest: { readonly version: string } = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8")
)

export const { version } = manifest
