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

/** A text that is repeated gets a name of its own where that saves at least so many characters. */
const leastSaved = 30

/** What an object needs to have in common with a named one, in characters, to be written as that one and more. */
const leastShared = 80

/** The shapes that most bodies have. They are written by name, so that an editor shows what differs. */
const shapes = `
type Data<T>={success:true;data:T}
type List<T>=Data<{object:"list";data:T[];has_more:boolean}>
/** An amount of US dollars: in thousandths as a number, and as a decimal text. */
type Usd<N extends string>={[K in N]:number}&{[K in \`\${N}_decimal\`]:string}
type EventOf<T extends string,O>=T extends string?{id:string;object:"event";api_version:string;created:number;type:T;livemode:boolean;pending_webhooks:number;request:{id:string|null;idempotency_key:string|null};data:{object:O;previous_attributes:unknown}}:never
type InUsd={currency:"usd";amount_unit:"usd_millis"}
type Texts<N extends string>={[K in N]:string}
type TextsOrNull<N extends string>={[K in N]:string|null}
type Numbers<N extends string>={[K in N]:number}
type NumbersOrNull<N extends string>={[K in N]:number|null}
/** The calls below a path. */
type Under<P extends string,T>={[K in keyof T as \`\${P}\${K&string}\`]:T[K]}
type Page={limit?:number;starting_after?:string;ending_before?:string}
type InEnv={environment?:Environment}
type Created={created_gte?:string;created_lte?:string}
`.trim()

const isName = (text: string): boolean => /^[A-Za-z_$][\w$]*$/.test(text)
const keyOf = (name: string): string => isName(name) ? name : JSON.stringify(name)
const pascal = (text: string): string => text.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())
const inBrackets = (type: string): string => /[|&]/.test(type) ? `(${type})` : type
const nameIn = (reference: string): string => reference.slice(reference.lastIndexOf("/") + 1)

/** Names that `shapes` has. */
const reserved: ReadonlySet<string> = new Set([...shapes.matchAll(/^type (\w+)/gm)].map(([, name = ""]) => name))

/** Shapes of several fields of one type. */
const fieldShapes: Readonly<Record<string, string>> = {
  Texts: "string",
  TextsOrNull: "string|null",
  Numbers: "number",
  NumbersOrNull: "number|null"
}

/**
 * Calls without types: those that people make by the dashboard, and those of whoever runs the service. A program that
 * makes them takes the OpenAPI document and any generator.
 */
const untypedPaths = /^\/api\/v1\/team\/|^\/health\/|^\/metrics$|^\/\.well-known\//

/** What most paths begin with. */
const prefixes = ["/api/v1", "/api/commerce/merchant", ""]

/** What programs import of the types, by the client. */
const exported: ReadonlySet<string> = new Set(["Event"])

/** How often names are given: after each, texts with these names in them may be equal. */
const rounds = 5

interface Field {
  readonly name: string
  readonly schema: JsonSchema
  readonly isRequired: boolean
}

/** Whether a schema is that constant, written either way. */
const isConstant = (schema: JsonSchema | undefined, value: unknown): boolean =>
  schema !== undefined && (schema.const === value || schema.enum?.length === 1 && schema.enum[0] === value)

/** A named object that another has everything of. */
interface Base {
  readonly name: string
  readonly fields: ReadonlyArray<string>
}

const fieldsOf = ({ properties = {}, required = [] }: JsonSchema): ReadonlyArray<Field> =>
  Object.entries(properties).map(([name, schema]) => ({ name, schema, isRequired: required.includes(name) }))

const fieldText = ({ isRequired, name }: Field, type: string): string =>
  `${keyOf(name)}${isRequired ? "" : "?"}:${type}`

const literalOf = (parts: ReadonlyArray<string>): string => `{${parts.join(";")}}`

/** Query parameters that many lists take, by the shape that has them. */
const queryShapes: Readonly<Record<string, ReadonlyArray<string>>> = {
  Page: ["limit", "starting_after", "ending_before"],
  Created: ["created_gte", "created_lte"],
  InEnv: ["environment"]
}

/** A call with what it answers when it succeeds. */
const withoutErrors = (operation: Operation): Operation => ({
  ...operation,
  responses: Object.fromEntries(Object.entries(operation.responses).filter(([status]) => status.startsWith("2")))
})

const referencePattern = /"\$ref":"#\/components\/schemas\/([^"]+)"/g

/** The schemas that the calls of `paths` and their parts name, and the event. */
const usedSchemas = (
  paths: OpenApiDocument["paths"],
  schemas: OpenApiDocument["components"]["schemas"]
): OpenApiDocument["components"]["schemas"] => {
  const used = new Set<string>()
  const add = (part: unknown): void => {
    for (const [, name = ""] of JSON.stringify(part).matchAll(referencePattern)) {
      if (used.has(name) || schemas[name] === undefined) continue
      used.add(name)
      add(schemas[name])
    }
  }
  add([paths, ...[...exported].map((name) => ({ $ref: `#/components/schemas/${name}` }))])
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(name)))
}

/** The types of the calls that programs make, and of what they name. The same document gives the same text. */
// oxlint-disable-next-line max-lines-per-function -- its parts call each other and share the names given so far
export const typesOf = (document: OpenApiDocument): string => {
  const paths = Object.fromEntries(
    Object.entries(document.paths).filter(([path]) => !untypedPaths.test(path)).map(([path, operations]) => [
      path,
      Object.fromEntries(Object.entries(operations).map(([method, operation]) => [method, withoutErrors(operation)]))
    ])
  )
  const schemas = usedSchemas(paths, document.components.schemas)
  /** Texts that got a name, and how often each text was written and by which owner and fields. */
  const names = new Map<string, string>()
  const uses = new Map<string, { readonly owner: string; readonly fields: Set<string>; count: number }>()

  const named = (text: string, owner: string, field: string): string => {
    const use = uses.get(text) ?? { owner, fields: new Set<string>(), count: 0 }
    use.fields.add(field)
    use.count += 1
    uses.set(text, use)
    return names.get(text) ?? text
  }

  const unionOf = (all: ReadonlyArray<string>): string => [...new Set(all)].join("|")

  /** The fields of named objects as text, for objects that have them all and more. */
  const namedFields = new Map<string, ReadonlyMap<string, string>>()

  /** The named object that an object has every field of, where writing it by that one saves most. */
  const baseOf = (fields: ReadonlyMap<string, string>, owner: string): Base | undefined => {
    const size = (own: ReadonlyMap<string, string>) => [...own.values()].reduce((sum, text) => sum + text.length + 1, 0)
    const bases = [...namedFields].filter(([name, own]) =>
      name !== owner && size(own) >= leastShared && [...own].every(([field, text]) => fields.get(field) === text)
      // Of two that are equal the second is written by the first.
      && (own.size < fields.size || !namedFields.has(owner) || name < owner)
    )
    return bases.toSorted(([, a], [, b]) => size(b) - size(a)).map(([name, own]) => ({
      name,
      fields: [...own.keys()]
    }))[0]
  }

  const objectOf = (fields: ReadonlyArray<Field>, owner: string): string => {
    const byName = new Map(fields.map((field) => [field.name, field]))
    const success = byName.get("success")
    const data = byName.get("data")
    if (fields.length === 2 && isConstant(success?.schema, true) && data?.isRequired === true) {
      return dataOf(data, owner)
    }
    const type = byName.get("type")?.schema.const ?? byName.get("type")?.schema.enum?.[0]
    if (isConstant(byName.get("object")?.schema, "event") && type !== undefined && data !== undefined) {
      const object = data.schema.properties?.["object"]
      if (object !== undefined) return `EventOf<${JSON.stringify(type)},${typeOf(object, owner, "object")}>`
    }
    const texts = new Map(
      fields.map((field) => [field.name, fieldText(field, typeOf(field.schema, owner, field.name))])
    )
    const base = baseOf(texts, owner)
    for (const field of base?.fields ?? []) texts.delete(field)
    const amounts = [...texts.keys()].filter((name) =>
      texts.get(name) === `${name}:number` && texts.get(`${name}_decimal`) === `${name}_decimal:string`
    )
    for (const name of amounts) {
      texts.delete(name)
      texts.delete(`${name}_decimal`)
    }
    const isInUsd = texts.get("currency") === `currency:"usd"` &&
      texts.get("amount_unit") === `amount_unit:"usd_millis"`
    if (isInUsd) {
      texts.delete("currency")
      texts.delete("amount_unit")
    }
    const groups = Object.entries(fieldShapes).flatMap(([shape, type]) => {
      const alike = [...texts.keys()].filter((name) => texts.get(name) === `${name}:${type}`)
      if (alike.length * (type.length - 2) < shape.length + 4) return []
      for (const name of alike) texts.delete(name)
      return [`${shape}<${unionOf(alike.map((name) => JSON.stringify(name)))}>`]
    })
    const parts = [
      ...base === undefined ? [] : [base.name],
      ...isInUsd ? ["InUsd"] : [],
      ...texts.size === 0 ? [] : [literalOf([...texts.values()])],
      ...amounts.length === 0 ? [] : [`Usd<${unionOf(amounts.map((name) => JSON.stringify(name)))}>`],
      ...groups
    ]
    return parts.length === 1 ? parts[0]! : parts.join("&") || "{}"
  }

  /** A body that says it succeeded, and of what. */
  const dataOf = ({ schema }: Field, owner: string): string => {
    const { data, has_more, object } = schema.properties ?? {}
    const isList = isConstant(object, "list") && data?.items !== undefined && has_more?.type === "boolean"
      && Object.keys(schema.properties ?? {}).length === 3
    return isList ? `List<${typeOf(data.items!, owner, "data")}>` : `Data<${typeOf(schema, owner, "data")}>`
  }

  const typeOf = (schema: JsonSchema, owner: string, field: string): string => {
    if (schema.$ref !== undefined) {
      const name = nameIn(schema.$ref)
      return inlined.has(name) ? schemaOf(name, schemas[name]!) : name
    }
    if ("const" in schema) return JSON.stringify(schema.const)
    if (schema.enum !== undefined) {
      return named(schema.enum.map((value) => JSON.stringify(value)).join("|"), owner, field)
    }
    const alternatives = schema.oneOf ?? schema.anyOf
    if (alternatives !== undefined) return joinEvents(alternatives.map((each) => typeOf(each, owner, field)))
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
        const { additionalProperties, properties } = schema
        if (properties !== undefined) return named(objectOf(fieldsOf(schema), owner), owner, field)
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

  const queryOf = (fields: ReadonlyArray<Field>, owner: string): string => {
    const left = new Map(fields.map((field) => [field.name, fieldText(field, typeOf(field.schema, owner, field.name))]))
    const found = Object.entries(queryShapes).filter(([, names]) =>
      names.every((name) => left.get(name)?.startsWith(`${name}?:`) === true)
    )
    for (const name of found.flatMap(([, names]) => names)) left.delete(name)
    const parts = [...found.map(([shape]) => shape), ...left.size === 0 ? [] : [literalOf([...left.values()])]]
    return named(parts.join("&"), owner, "query")
  }

  const operationOf = (path: string, { parameters = [], requestBody, responses }: Operation): string => {
    const owner = pascal(path.split("/").findLast((part) => isName(part)) ?? "")
    const fieldsIn = (place: string): ReadonlyArray<Field> =>
      parameters.flatMap((one) =>
        "$ref" in one || one.in !== place ? [] : [{ ...one, isRequired: one.required === true }]
      )
    const inPath = fieldsIn("path")
    // What a path names in braces is text: `fetch.ts` reads it of the path.
    const isPlain = inPath.every(({ name, schema }) => typeOf(schema, owner, name) === "string")
    const query = fieldsIn("query")
    const body = requestBody === undefined
      ? []
      : [`body${requestBody.required === true ? "" : "?"}:${bodyOf(requestBody, owner)}`]
    const answer = Object.entries(responses).find(([status]) => status.startsWith("2"))?.[1]
    return literalOf([
      ...isPlain ? [] : [
        `path:${literalOf(inPath.map((field) => fieldText(field, typeOf(field.schema, owner, field.name))))}`
      ],
      ...query.length === 0
        ? []
        : [`query${query.some(({ isRequired }) => isRequired) ? "" : "?"}:${queryOf(query, owner)}`],
      ...body,
      `answer:${bodyOf(answer, owner)}`
    ])
  }

  const schemaOf = (name: string, schema: JsonSchema): string =>
    schema.properties === undefined || schema.$ref !== undefined
      ? typeOf(schema, name, name)
      : objectOf(fieldsOf(schema), name)

  const pathsUnder = (prefix: string): string =>
    Object.entries(paths).filter(([path]) => prefixes.find((one) => path.startsWith(`${one}/`)) === prefix).map((
      [path, operations]
    ) =>
      `${JSON.stringify(path.slice(prefix.length))}:{${
        Object.entries(operations).map(([method, operation]) => `${method}:${operationOf(path, operation)}`).join(";")
      }}`
    ).join("\n")

  /** A union in which the events of one kind of object are one. */
  const joinEvents = (all: ReadonlyArray<string>): string => {
    const types = Map.groupBy(
      all.flatMap((text) => {
        const [, type, object] = /^EventOf<("[^"]+"),(\w+)>$/.exec(text) ?? []
        return type === undefined || object === undefined ? [] : [{ type, object }]
      }),
      ({ object }) => object
    )
    const others = all.filter((text) => !/^EventOf<"[^"]+",\w+>$/.test(text))
    return unionOf([
      ...[...types].map(([object, events]) => `EventOf<${unionOf(events.map(({ type }) => type))},${object}>`),
      ...others
    ])
  }

  /** Named schemas that are written where they are used, because nothing else uses them. */
  const inlined = new Set<string>()

  const write = (): string =>
    [
      ...Object.entries(schemas).flatMap(([name, schema]) =>
        inlined.has(name) ? [] : [`${exported.has(name) ? "export " : ""}type ${name}=${schemaOf(name, schema)}`]
      ),
      `export type Paths=${
        prefixes.map((prefix) => `Under<${JSON.stringify(prefix)},{\n${pathsUnder(prefix)}\n}>`).join("&")
      }`
    ].join("\n")

  const isFree = (name: string) => !(name in schemas) && !reserved.has(name) && ![...names.values()].includes(name)

  /** Names what is repeated and has no name yet. Another time for what is the same once its parts have names. */
  const nameRepeated = (): void => {
    uses.clear()
    write()
    const all = [...uses].filter(([text, { count, fields }]) =>
      !names.has(text) && /[|{&]/.test(text) &&
      (count - 1) * text.length - count * Math.min(...[...fields].map((field) => field.length)) >= leastSaved
    )
    // Inner ones first: then what holds them is named in its final form.
    const repeated = all.filter(([text]) => !all.some(([other]) => other !== text && text.includes(other)))
    const isUsedElsewhere = (text: string, name: string) =>
      repeated.some(([other, one]) => other !== text && [...one.fields].some((field) => pascal(field) === name))
    for (const [text, { fields, owner }] of repeated) {
      const fieldNames = [...fields].map((field) => pascal(field))
      const longName = `${owner}${fieldNames[0]}`
      const numbered = Array.from({ length: repeated.length }, (_, place) => `${longName}${place + 2}`)
      names.set(
        text,
        fieldNames.find((name) => isFree(name) && !isUsedElsewhere(text, name)) ?? [longName, ...numbered].find(isFree)
          ?? text
      )
    }
  }

  names.set(`"devnet"|"mainnet"`, "Environment")
  const written = JSON.stringify([paths, schemas])
  for (const name of Object.keys(schemas)) {
    if (!exported.has(name) && written.split(`"$ref":"#/components/schemas/${name}"`).length === 2) inlined.add(name)
  }
  for (let round = 0; round < rounds; round++) {
    nameRepeated()
    namedFields.clear()
    for (const [name, schema] of Object.entries(schemas)) {
      if (schema.properties === undefined || inlined.has(name)) continue
      namedFields.set(
        name,
        new Map(fieldsOf(schema).map((field) => [field.name, fieldText(field, typeOf(field.schema, name, field.name))]))
      )
    }
  }
  return [
    "// Made by `npm run openapi` of the OpenAPI document. Do not edit.",
    shapes,
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
