/** What the plugins' APIs serve, known without asking the router: for errors that come before or instead of a route. */
import { Context, Layer } from "effect"
import { FindMyWay, HttpRouter } from "effect/http"
import type { HttpApi, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import type { ErrorFamily } from "../../schemas/Errors.ts"
import { AnyOrigin, TakesForms } from "../Http.ts"
import { familyOf } from "./ErrorResponses.ts"
import { decodablePath, hasEmptySegment } from "./Paths.ts"

/**
 * Routing is exact: another case, doubled slashes and a slash at the end are other paths. Node refuses a URL that is
 * longer than its 16 KiB of headers, so that a parameter needs no limit of its own here: schemas say how long one may
 * be.
 */
const exactRouting: FindMyWay.RouterConfig = {
  caseSensitive: true,
  ignoreDuplicateSlashes: false,
  ignoreTrailingSlash: false,
  maxParamLength: 16_384
}

/** What {@link exactRouting} tells apart, taken together: for the family and the name of the path that was meant. */
const lenientRouting: FindMyWay.RouterConfig = {
  ...exactRouting,
  caseSensitive: false,
  ignoreDuplicateSlashes: true,
  ignoreTrailingSlash: true
}

/** For whatever makes a router. */
export const routerConfig: Layer.Layer<never> = Layer.succeed(HttpRouter.RouterConfig, exactRouting)

/** One path of the APIs. */
export interface KnownPath {
  /** As the reference writes it: `/api/v1/invoices/{customer_id}`. */
  readonly template: string
  readonly family: ErrorFamily
  /** As `Allow` lists them. */
  readonly methods: ReadonlyArray<string>
  readonly anyOrigin: boolean
  readonly takesForms: boolean
}

export interface Routes {
  /** The path a request's canonical URL belongs to, whatever its method. */
  readonly find: (url: string) => KnownPath | undefined
  /** The path that was meant by a URL, of whatever spelling, that belongs to none. */
  readonly meant: (url: string) => KnownPath | undefined
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
    const existing = paths.get(path) ?? {
      template: endpoint.path.replaceAll(/:(\w+)/g, "{$1}"),
      family: familyOf(endpoint),
      methods: new Set(),
      anyOrigin: Context.get(group.annotations, AnyOrigin),
      takesForms: Context.get(group.annotations, TakesForms)
    }
    existing.methods.add(endpoint.method)
    if (endpoint.method === "GET") existing.methods.add("HEAD")
    if (existing.anyOrigin) existing.methods.add("OPTIONS")
    paths.set(path, existing)
  }
  const exact = FindMyWay.make<KnownPath>(exactRouting)
  const lenient = FindMyWay.make<KnownPath>(lenientRouting)
  for (const [path, { methods, ...facts }] of paths) {
    const knownPath = { ...facts, methods: [...methods].sort() }
    exact.on("GET", path as FindMyWay.PathInput, knownPath)
    lenient.on("GET", path as FindMyWay.PathInput, knownPath)
  }
  return {
    find: (url) => hasEmptySegment(url) ? undefined : exact.find("GET", url)?.handler,
    meant: (url) => lenient.find("GET", decodablePath(url))?.handler
  }
}
