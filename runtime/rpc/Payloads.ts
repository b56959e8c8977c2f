/**
 * What is sent with a call is read here, and not by the RPC server: that answers a payload which does not fit with a
 * defect, a text that no typed client can tell from a bug of the service. So a caller in another language is told the
 * field and what is allowed as a caller of the HTTP API is.
 */
import { Context, Exit, Schema, Stream } from "effect"
import { type Rpc, type RpcGroup, RpcSchema } from "effect/rpc"
import { PublicError, publicError } from "../../schemas/Errors.ts"
import { validationError } from "../../schemas/InvalidInput.ts"

/** A group, and the context with its handlers. */
export interface ServedGroup {
  readonly group: RpcGroup.RpcGroup<Rpc.Any>
  readonly handlers: Context.Context<never>
}

/** The part of a handler that is replaced: the library keeps the rest beside it. */
type Handle = Rpc.Handler<string>["handler"]

/** The schema of the errors that a call may fail with. */
const errorSchemaOf = ({ errorSchema, successSchema }: Rpc.AnyWithProps): Schema.Top =>
  RpcSchema.isStreamSchema(successSchema) ? successSchema.error : errorSchema

/** What a call calls its payload, the HTTP API calls its body. */
const refusalOf = ({ issue }: Schema.SchemaError): PublicError => {
  const error = validationError(issue)
  return error.param === null
    ? publicError(error.code, { message: error.message.replace(/^The body/u, "The payload") })
    : error
}

/** A call that fails with another error, or takes nothing, is left to the server. */
const canBeRefused = (rpc: Rpc.AnyWithProps): boolean =>
  rpc.payloadSchema !== Schema.Void && errorSchemaOf(rpc) === PublicError

/** The handler behind the schema of its payload. */
const reading = (rpc: Rpc.AnyWithProps, handle: Handle): Handle => {
  const decode = Schema.decodeUnknownExit(Schema.toCodecJson(rpc.payloadSchema) as unknown as Schema.Codec<unknown>)
  const isStream = RpcSchema.isStreamSchema(rpc.successSchema)
  return (payload, options) => {
    const read = decode(payload)
    if (Exit.isSuccess(read)) return handle(read.value, options)
    const refused = Exit.mapError(read, refusalOf) as Exit.Exit<never, PublicError>
    return isStream ? Stream.fromEffect(refused) : refused
  }
}

/** The same group, whose calls answer `VALIDATION_ERROR` with the field for a payload that does not fit. */
export const readPayloads = ({ group, handlers }: ServedGroup): ServedGroup => {
  const rpcs = [...group.requests.values()] as unknown as ReadonlyArray<Rpc.AnyWithProps>
  return rpcs.filter(canBeRefused).reduce<ServedGroup>((served, rpc) => {
    const key = Context.Service<Rpc.Handler<string>>(rpc.key)
    const entry = Context.getUnsafe(handlers as Context.Context<Rpc.Handler<string>>, key)
    return {
      group: served.group.add((rpc as any).setPayload(Schema.Any)),
      handlers: Context.add(served.handlers, key, { ...entry, handler: reading(rpc, entry.handler) }) as never
    }
  }, { group, handlers })
}
