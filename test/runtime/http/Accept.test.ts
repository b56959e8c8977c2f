/** Goal: a browser gets a page and a program gets JSON, however each writes what it takes. */
import { assert, describe, it } from "@effect/vitest"
import { prefersHtml } from "../../../runtime/http/Accept.ts"

describe("an Accept header", () => {
  it("asks for HTML where it names HTML at least as much as JSON", () => {
    for (
      const accept of [
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "TEXT/HTML",
        "text/*",
        "text/html, */*",
        "text/html;charset=utf-8",
        "text/html;q=0.5",
        "application/json;q=0.4, text/html;q=0.5",
        "text/html, application/json",
        "*/*;q=0.1, text/*;q=0.2",
        "text/html;level=1;Q=1.0"
      ]
    ) assert.isTrue(prefersHtml(accept), accept)
  })

  it("asks for JSON in all other cases", () => {
    for (
      const accept of [
        undefined,
        "",
        "*/*",
        "application/json",
        "application/*",
        "text/html;q=0",
        "text/html;q=0.000, */*",
        "text/html;q=0,text/*",
        "application/json, text/plain, */*",
        "application/json, text/html;q=0.9",
        "*/*, text/html;q=0.5",
        "text/plain",
        "text/htmlx",
        "text/html;q=high",
        "text/html;q=-1",
        "text/html;q=2",
        ",;=,",
        "image/avif,image/webp"
      ]
    ) assert.isFalse(prefersHtml(accept), String(accept))
  })
})
