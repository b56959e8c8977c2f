/** Starts the one browser of a run. */
import type { TestProject } from "vitest/node"
import { findBrowser, launch } from "../support/Browser.ts"

declare module "vitest" {
  interface ProvidedContext {
    readonly browserEndpoint: string
  }
}

export default async function setup(project: TestProject) {
  const server = await launch(findBrowser() ?? "")
  project.provide("browserEndpoint", server.wsEndpoint())
  return () => server.kill()
}
