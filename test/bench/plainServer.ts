/**
 * The least anybody could do for a page: a bare node:http server that answers bytes it was given, compressed already.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { say, specification } from "../support/Process.ts"

export interface PlainServerSpec {
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string>>>
  /** Base64. */
  readonly body: string
}

const serve = ({ body, headers }: PlainServerSpec) => {
  const bytes = Buffer.from(body, "base64")
  const server = createServer((_request, response) => {
    response.writeHead(200, { ...headers as Record<string, string>, "content-length": bytes.length })
    response.end(bytes)
  })
  server.listen(0, "127.0.0.1", () => say({ port: (server.address() as AddressInfo).port }))
}

if (import.meta.main) serve(specification<PlainServerSpec>())
