/**
 * Goal: what merchants and payors write is text on the page, wherever it is put, and no link leads where it must not.
 * Method: any text through the two places that take one, read back; templates that would be unsafe do not work at all.
 */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  attribute,
  type Content,
  html,
  mailUrl,
  pathUrl,
  pictureUrl,
  socketUrl,
  styleElement,
  walletUrl,
  webUrl
} from "../../../runtime/pages/Html.ts"

const unescaped = (text: string) =>
  text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", "\"").replaceAll("&#39;", "'").replaceAll(
    "&amp;",
    "&"
  )

const nasty = [
  "<script>alert(1)</script>",
  "\" onload=\"x",
  "' onload='x",
  "</title>",
  "&lt;",
  "&amp;",
  "-->",
  "]]>",
  "\0",
  "javascript:x"
]
const AnyText = Schema.Array(Schema.Union([Schema.String, Schema.Literals(nasty)]))

describe("a template", () => {
  it.prop("keeps any text a text, in content and in an attribute", [AnyText], ([parts]) => {
    const text = parts.join("").replaceAll("\0", "")
    const made = html`<p title="${text}">${text}</p>`.toString()
    const [, inside = "", content = ""] = /^<p title="([^"]*)">([^<]*)<\/p>$/.exec(made) ?? []
    assert.strictEqual(unescaped(inside), text)
    assert.strictEqual(unescaped(content), text)
    assert.notMatch(inside + content, /[<>"']/)
  })

  it("takes its own markup as markup, lists one by one, and nothing for null, false and undefined", () => {
    const list: ReadonlyArray<Content> = [html`<b>${"&"}</b>`, "<", 7, null, undefined, false, [html`<i></i>`]]
    assert.strictEqual(html`<p>${list}</p>`.toString(), "<p><b>&amp;</b>&lt;7<i></i></p>")
  })

  it("takes nothing that only looks like its markup", () => {
    const fake = { toString: () => "<b>" } as unknown as Content
    assert.throws(() => html`<p>${fake}</p>`)
    assert.strictEqual(html`<p>${"\0"}</p>`.toString(), "<p>\uFFFD</p>")
  })

  it("may be laid out over lines, of which nothing is left on the page", () => {
    const made = html`<p
      title="a b"${attribute("hidden", true)}
      ${attribute("id", "c")}>
      <b>${"x\n y"}</b> <i></i>
    </p>`
    assert.strictEqual(made.toString(), `<p title="a b" hidden id="c"><b>x\n y</b> <i></i></p>`)
    assert.throws(() =>
      html`<p title="a
      b"></p>`
    )
  })

  it("does not work with a value where no text may stand", () => {
    assert.throws(() => html`<p class=${"a"}></p>`)
    assert.throws(() => html`<p ${"onclick=x"}></p>`)
    assert.throws(() => html`<${"p"}></p>`)
    assert.throws(() => html`<a href="${"javascript:alert(1)"}"></a>`)
    assert.throws(() => html`<img src="${"https://shop.example/a.png"}">`)
    assert.throws(() => html`<form action="${"/pay"}"></form>`)
    assert.throws(() => html`<p${html`x`}></p>`)
  })

  it("does not work with styles, handlers or scripts in it", () => {
    assert.throws(() => html`<p style="color:red"></p>`)
    assert.throws(() => html`<p onclick="x()"></p>`)
    assert.throws(() => html`<script>${"x"}</script>`)
    assert.throws(() => styleElement("</style><script>"))
  })

  it("writes attributes of its own choice of names only", () => {
    assert.strictEqual(
      html`<i${attribute("title", "\"<")}${attribute("hidden", true)}${attribute("a", null)}></i>`.toString(),
      "<i title=\"&quot;&lt;\" hidden></i>"
    )
    for (const name of ["style", "onclick", "href", "a b", "a\"", ""]) assert.throws(() => attribute(name, "x"))
  })
})

describe("links", () => {
  const dangerous = [
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    " javascript:alert(1)",
    "java\nscript:alert(1)",
    "\u0001javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:x",
    "//evil.example",
    "/\\evil.example",
    "file:///etc/passwd",
    "blob:x",
    ""
  ]

  it("of every kind refuse what could run or lead astray", () => {
    for (const text of dangerous) {
      assert.isNull(webUrl(text), text)
      assert.isNull(walletUrl(text), text)
      assert.isNull(pictureUrl(text), text)
      assert.isNull(socketUrl(text), text)
      assert.throws(() => pathUrl(text), TypeError, undefined, text)
    }
  })

  it("to other sites are https, without what a browser would drop", () => {
    assert.strictEqual(String(webUrl("https://shop.example/a?b=\"c\"")), "https://shop.example/a?b=%22c%22")
    assert.isNull(webUrl("http://shop.example/"))
    assert.isNull(webUrl(null))
  })

  it("to wallets are those that drivers make", () => {
    for (
      const uri of [
        "ethereum:0xabc@1?value=1",
        "solana:abc?amount=1",
        "ton://transfer/UQ?amount=1",
        "web+cardano:addr?amount=1",
        "sui:pay?receiver=0x"
      ]
    ) {
      assert.strictEqual(String(walletUrl(uri)), uri)
    }
    assert.isNull(walletUrl("https://wallet.example/"))
    assert.isNull(walletUrl("ethereum:<script>"))
  })

  it("to mail carry the invoice, and no second recipient", () => {
    assert.strictEqual(
      String(mailUrl("help@shop.example", "Invoice 1 & 2")),
      "mailto:help@shop.example?subject=Invoice%201%20%26%202"
    )
    assert.strictEqual(String(mailUrl("a?bcc=x,y@shop.example", "s")), "mailto:a%3Fbcc%3Dx%2Cy@shop.example?subject=s")
    assert.isNull(mailUrl("nobody", "s"))
    assert.isNull(mailUrl("a@b@c", "s"))
  })

  it("to pictures are pictures within the page", () => {
    assert.isNotNull(pictureUrl("data:image/png;base64,iVBORw0KGgo="))
    assert.isNull(pictureUrl("https://shop.example/logo.png"))
    assert.isNull(pictureUrl("data:image/svg+xml;base64,PHN2Zz4="))
  })
})
