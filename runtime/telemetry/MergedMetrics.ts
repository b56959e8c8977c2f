/** The metrics of several processes as one Prometheus text: each series gets a label that names its process. Pure. */

interface Family {
  readonly head: ReadonlyArray<string>
  readonly samples: ReadonlyArray<string>
}

/** `name 1` or `name{a="b"} 1` with one more label. */
const withProcess = (sample: string, process: string): string => {
  const end = sample.search(/[{ ]/)
  const rest = sample[end] === "{" ? `,${sample.slice(end + 1)}` : `}${sample.slice(end)}`
  return `${sample.slice(0, end)}{process="${process}"${rest}`
}

/** The families of a text in their order. A family's lines follow its `# HELP` and `# TYPE`. */
const familiesOf = (text: string, process: string): ReadonlyMap<string, Family> => {
  const families = new Map<string, { head: Array<string>; samples: Array<string> }>()
  let current = { head: [] as Array<string>, samples: [] as Array<string> }
  for (const line of text.split("\n")) {
    const name = /^# (?:HELP|TYPE) (\S+)/.exec(line)?.[1]
    if (name !== undefined) {
      current = families.get(name) ?? { head: [], samples: [] }
      families.set(name, current)
      current.head.push(line)
    } else if (line !== "") current.samples.push(withProcess(line, process))
  }
  return families
}

/** One text of all; a family that several have stands there once, as the format wants it. */
export const mergeMetrics = (texts: ReadonlyArray<readonly [process: string, text: string]>): string => {
  const all = texts.map(([process, text]) => familiesOf(text, process))
  const names = new Set(all.flatMap((families) => [...families.keys()]))
  return [...names].map((name) => {
    const families = all.flatMap((each) => each.get(name) ?? [])
    return [...families[0]!.head, ...families.flatMap(({ samples }) => samples)].join("\n")
  }).join("\n") + "\n"
}
