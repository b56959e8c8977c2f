/** The errors of the OpenAPI document: what each looks like, and those that most calls share written once. */
import { errorBody, type ErrorCode, type ErrorFamily, meaningOf, publicError, statusOf } from "../../schemas/Errors.ts"
import { exampleRequestId, headersOf } from "./SharedComponents.ts"

const errorDescription = (codes: ReadonlyArray<ErrorCode>): string =>
  codes.map((code) => `\`${code}\`: ${meaningOf(code)}.`).join("\n\n")

const errorExample = (code: ErrorCode, family: ErrorFamily) => ({
  summary: meaningOf(code),
  value: errorBody(publicError(code), family, exampleRequestId)
})

/** One response per status, with an example per code. */
export const errorResponses = (codes: ReadonlyArray<ErrorCode>, family: ErrorFamily) =>
  Object.fromEntries(
    [...Map.groupBy(new Set(codes), statusOf)].toSorted(([a], [b]) => a - b).map(([status, group]) => [status, {
      description: errorDescription(group),
      headers: headersOf(status),
      content: {
        "application/json": {
          schema: { $ref: `#/components/schemas/${family === "flat" ? "FlatError" : "WrappedError"}` },
          examples: Object.fromEntries(group.map((code) => [code, errorExample(code, family)]))
        }
      }
    }])
  )

type ErrorResponse = ReturnType<typeof errorResponses>[string]

/** An operation whose errors are not yet among its responses. */
interface WithErrors {
  readonly errors: Readonly<Record<string, ErrorResponse>>
  readonly responses: object
}

const nameOf = (status: string, { content }: ErrorResponse) =>
  `${content["application/json"].schema.$ref.endsWith("FlatError") ? "Flat" : "Wrapped"}${status}`

/**
 * Most operations share most errors: the commonest answer of each family and status stands once, under a name, and
 * operations refer to it.
 */
export const shareErrors = <A extends WithErrors>(paths: Readonly<Record<string, Readonly<Record<string, A>>>>) => {
  const counts = new Map<string, Map<string, number>>()
  const errors = Object.values(paths).flatMap((operations) => Object.values<A>(operations)).flatMap(({ errors }) =>
    Object.entries(errors)
  )
  for (const [status, response] of errors) {
    const name = nameOf(status, response)
    const texts = counts.get(name) ?? new Map<string, number>()
    const text = JSON.stringify(response)
    counts.set(name, texts.set(text, (texts.get(text) ?? 0) + 1))
  }
  const commonest = new Map(
    [...counts].toSorted(([a], [b]) => a < b ? -1 : 1).flatMap(([name, texts]) => {
      const [[text, count]] = [...texts].toSorted(([, a], [, b]) => b - a) as [[string, number]]
      return count > 1 ? [[name, text] as const] : []
    })
  )
  const reference = (status: string, response: ErrorResponse) => {
    const name = nameOf(status, response)
    return commonest.get(name) === JSON.stringify(response) ? { $ref: `#/components/responses/${name}` } : response
  }
  const withResponses = ({ errors, responses, ...operation }: A) => ({
    ...operation,
    responses: {
      ...responses,
      ...Object.fromEntries(Object.entries(errors).map(([status, response]) => [status, reference(status, response)]))
    }
  })
  return {
    paths: Object.fromEntries(
      Object.entries(paths).map(([path, operations]) => [
        path,
        Object.fromEntries(Object.entries(operations).map(([method, operation]) => [method, withResponses(operation)]))
      ])
    ),
    responses: Object.fromEntries([...commonest].map(([name, text]) => [name, JSON.parse(text) as unknown]))
  }
}
