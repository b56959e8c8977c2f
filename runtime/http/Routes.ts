/** What the plugins' APIs serve, known without asking the router: for errors that come before or instead of a route. */
import { Context } from "effect"
import { FindMyWay } from "effect/http"
import type { HttpApi, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import type { ErrorFamily } from "../../schemas/Errors.ts"
import { AnyOrigin, TakesForms } from "../Http.ts"
import { familyOf } from "./Families.ts"

/** One path of the APIs. */
export interface KnownPath {
  readonly family: ErrorFamily
  /** As `Allow` lists them. */
  readonly methods: ReadonlyArray<string>
  readonly anyOrigin: boolean
  readonly takesForms: boolean
}

export interface Routes {
  /** The path a request's URL belongs to, whatever its method. */
  readonly find: (url: string) => KnownPath | undefined
}

/** `/a/:x` and `/a/:y` are one path. */
const normalised = (path: string): string => {
  let parameters = 0
  return path.replaceAll(/:\w+/g, () => `:p${parameters++}`)
}

/** Every endpoint of an API with its group, in the order they were added. */
export const endpointsOf = (api: HttpApi.Top): ReadonlyArray<readonly [HttpApiGroup.Top, HttpApiEndpoint.Top]> =>
  Object.values(api.groups).flatMap((group) =>
    Object.values(group.endpoints as Readonly<Record<string, HttpApiEndpoint.Top>>).map((endpoint) =>
      [group, endpoint] as const
    )
  )

/** Collects the paths of `apis`. Where two groups share one, the first one's family counts. */
export const fromApis = (apis: ReadonlyArray<HttpApi.Constraint>): Routes => {
  const paths = new Map<string, Omit<KnownPath, "methods"> & { readonly methods: Set<string> }>()
  for (const [group, endpoint] of apis.flatMap((api) => endpointsOf(api as HttpApi.Top))) {
    const path = normalised(endpoint.path)
    const known = paths.get(path) ?? {
      family: familyOf(endpoint),
      methods: new Set(),
      anyOrigin: Context.get(group.annotations, AnyOrigin),
      takesForms: Context.get(group.annotations, TakesForms)
    }
    known.methods.add(endpoint.method)
    if (endpoint.method === "GET") known.methods.add("HEAD")
    if (known.anyOrigin) known.methods.add("OPTIONS")
    paths.set(path, known)
  }
  const router = FindMyWay.make<KnownPath>({ ignoreDuplicateSlashes: true })
  for (const [path, { methods, ...facts }] of paths) {
    router.on("GET", path as FindMyWay.PathInput, { ...facts, methods: [...methods].sort() })
  }
  return { find: (url) => router.find("GET", url)?.handler }
}
