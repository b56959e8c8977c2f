/**
 * Makes `openapi.ts`, the types of the API for programs in TypeScript, of the OpenAPI document. `openapi-typescript`
 * makes two megabytes of it, more than the package may be: error responses, headers and examples are in it, which the
 * client reports as `TillwireError`. Part of `npm run openapi`.
 */
import { readFileSync, writeFileSync } from "node:fs"

/** A JSON Schema, as far as the document uses it. */
interface JsonSchema {
  readonly $ref?: string
  readonly const?: unknown
  readonly enum?: ReadonlyArray<unknown>
  readonly oneOf?: ReadonlyArray<JsonSchema>
  readonly anyOf?: ReadonlyArray<JsonSchema>
  readonly allOf?: ReadonlyArray<JsonSchema>
  readonly type?: string | ReadonlyArray<string>
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: ReadonlyArray<string>
  readonly additionalProperties?: boolean | JsonSchema
}

interface Body {
  readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>>
  readonly required?: boolean
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema: JsonSchema
}

interface Operation {
  readonly parameters?: ReadonlyArray<Parameter | { readonly $ref: string }>
  readonly requestBody?: Body
  readonly responses: Readonly<Record<string, Body>>
}

export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

/** An enumeration of at least so many characters that is repeated gets a type of its own. */
const minimumAliasLength = 30

const isName = (text: string): boolean => /^[A-Za-z_$][\w$]*$/.test(text)
const keyOf = (name: string): string => isName(name) ? name : JSON.stringify(name)
const pascal = (text: string): string => text.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())
const inBrackets = (type: string): string => /[|&]/.test(type) ? `(${type})` : type
const nameIn = (reference: string): string => reference.slice(reference.lastIndexOf("/") + 1)

/** The types of everything in `document`, and its paths. The same document gives the same text. */
export const typesOf = ({ components: { schemas }, paths }: OpenApiDocument): string => {
  /** Enumerations by their text: the first schema that has it, and the names of its fields. */
  const enumerations = new Map<string, { readonly owner: string; readonly fields: Set<string>; count: number }>()
  const names = new Map<string, string>()

  const enumerationOf = (values: ReadonlyArray<unknown>, owner: string, field: string): string => {
    const text = values.map((value) => JSON.stringify(value)).join("|")
    const known = enumerations.get(text) ?? { owner, fields: new Set<string>(), count: 0 }
    known.fields.add(field)
    known.count += 1
    enumerations.set(text, known)
    return names.get(text) ?? text
  }

  const unionOf = (all: ReadonlyArray<string>): string => [...new Set(all)].join("|")

  const objectOf = (
    fields: ReadonlyArray<readonly [name: string, schema: JsonSchema, isRequired: boolean]>,
    owner: string
  ): string =>
    `{${
      fields.map(([name, schema, isRequired]) =>
        `${keyOf(name)}${isRequired ? "" : "?"}:${typeOf(schema, owner, name)}`
      )
        .join(";")
    }}`

  const typeOf = (schema: JsonSchema, owner: string, field: string): string => {
    if (schema.$ref !== undefined) return nameIn(schema.$ref)
    if ("const" in schema) return JSON.stringify(schema.const)
    if (schema.enum !== undefined) return enumerationOf(schema.enum, owner, field)
    const alternatives = schema.oneOf ?? schema.anyOf
    if (alternatives !== undefined) return unionOf(alternatives.map((each) => typeOf(each, owner, field)))
    if (schema.allOf !== undefined && schema.type === undefined) {
      return schema.allOf.map((each) => inBrackets(typeOf(each, owner, field))).join("&")
    }
    if (Array.isArray(schema.type)) return unionOf(schema.type.map((type) => typeOf({ ...schema, type }, owner, field)))
    switch (schema.type) {
      case "string":
      case "boolean":
      case "null":
        return schema.type
      case "integer":
      case "number":
        return "number"
      case "array": {
        return `${inBrackets(typeOf(schema.items ?? {}, owner, field))}[]`
      }
      default: {
        const { additionalProperties, properties, required = [] } = schema
        if (properties !== undefined) {
          return objectOf(
            Object.entries(properties).map(([name, one]) => [name, one, required.includes(name)]),
            owner
          )
        }
        return typeof additionalProperties === "object"
          ? `Record<string,${typeOf(additionalProperties, owner, field)}>`
          : "unknown"
      }
    }
  }

  const bodyOf = (body: Body | undefined, owner: string): string => {
    const schema = body?.content?.["application/json"]?.schema
    return schema === undefined ? "undefined" : typeOf(schema, owner, "body")
  }

  const operationOf = (path: string, { parameters = [], requestBody, responses }: Operation): string => {
    const owner = pascal(path.split("/").findLast((part) => isName(part)) ?? "")
    const partOf = (place: string): ReadonlyArray<string> => {
      const found = parameters.flatMap((one) => "$ref" in one || one.in !== place ? [] : [one])
      const fields = found.map(({ name, required = false, schema }) => [name, schema, required] as const)
      return found.length === 0
        ? []
        : [`${place}${found.some(({ required }) => required) ? "" : "?"}:${objectOf(fields, owner)}`]
    }
    const body = requestBody === undefined
      ? []
      : [`body${requestBody.required === true ? "" : "?"}:${bodyOf(requestBody, owner)}`]
    const answer = Object.entries(responses).find(([status]) => status.startsWith("2"))?.[1]
    return `{${[...partOf("path"), ...partOf("query"), ...body, `answer:${bodyOf(answer, owner)}`].join(";")}}`
  }

  const write = (): string =>
    [
      ...Object.entries(schemas).map(([name, schema]) => `export type ${name}=${typeOf(schema, name, name)}`),
      "export interface Paths{",
      ...Object.entries(paths).map(([path, operations]) =>
        `${JSON.stringify(path)}:{${
          Object.entries(operations).map(([method, operation]) => `${method}:${operationOf(path, operation)}`).join(";")
        }}`
      ),
      "}"
    ].join("\n")

  write()
  const repeated = [...enumerations].filter(([text, { count }]) => count > 1 && text.length >= minimumAliasLength)
  for (const [text, { fields, owner }] of repeated) {
    const isFree = (name: string) => !(name in schemas) && ![...names.values()].includes(name)
    const isUsedElsewhere = (name: string) =>
      repeated.some(([other, one]) => other !== text && [...one.fields].some((field) => pascal(field) === name))
    const fieldNames = [...fields].map((field) => pascal(field))
    const longName = `${owner}${fieldNames[0]}`
    const numbered = Array.from({ length: repeated.length }, (_, place) => `${longName}${place + 2}`)
    names.set(
      text,
      fieldNames.find((name) => isFree(name) && !isUsedElsewhere(name)) ?? [longName, ...numbered].find(isFree) ?? text
    )
  }
  return [
    "// Made by `npm run openapi` of the OpenAPI document. Do not edit.",
    ...[...names].map(([text, name]) => `type ${name}=${text}`),
    write()
  ].join("\n") + "\n"
}

if (import.meta.main) {
  const document = JSON.parse(
    readFileSync(new URL("../docs/openapi.json", import.meta.url), "utf8")
  ) as OpenApiDocument
  writeFileSync(new URL("openapi.ts", import.meta.url), typesOf(document))
}
