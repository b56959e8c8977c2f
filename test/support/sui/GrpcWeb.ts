/** gRPC-Web on the server's side: frames of messages, and trailers as a frame of their own. */
import { GrpcTypes } from "@mysten/sui/grpc"
import type { ServerResponse } from "node:http"
import type { NodeReply } from "./Replies.ts"

const frame = (flags: number, content: Uint8Array): Buffer => {
  const header = Buffer.alloc(5)
  header[0] = flags
  header.writeUInt32BE(content.length, 1)
  return Buffer.concat([header, content])
}

/** Sends an answer, or cuts it 20 bytes before its end; says how many bytes went out. */
export const send = (response: ServerResponse, { messages, status }: NodeReply, isCut: boolean): number => {
  response.setHeader("content-type", "application/grpc-web+proto")
  if (status?.inHeaders === true) {
    response.setHeader("grpc-status", status.code)
    response.setHeader("grpc-message", encodeURIComponent(status.text))
    response.end()
    return 0
  }
  const trailers = `grpc-status:${status?.code ?? 0}\r\ngrpc-message:${encodeURIComponent(status?.text ?? "")}\r\n`
  const body = Buffer.concat([...messages.map((each) => frame(0, each)), frame(0x80, Buffer.from(trailers))])
  if (isCut) {
    response.flushHeaders()
    response.write(body.subarray(0, body.length - 20), () => response.destroy())
    return body.length - 20
  }
  response.end(body)
  return body.length
}

/** The message of a call; null for a method that the SDK does not have. */
export const requestOf = (method: string, body: Buffer): any => {
  const type = GrpcTypes[`${method}Request` as keyof typeof GrpcTypes] as any
  return type === undefined ? null : type.fromBinary(body.subarray(5))
}
