/**
 * A deployment over an EVM node, whose merchant's people use the dashboard in browsers; one a file that asks for it.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import { getAddress } from "viem"
import type { Page } from "playwright-core"
import { devnetXpub } from "../../modules/chains/simulated.ts"
import { keylessDeployer } from "../../modules/chains/evm/Contracts.ts"
import { loginLink } from "../journeys/LoginLink.ts"
import { openInvoice, openTown, type Town } from "../journeys/Town.ts"
import { type Anvil, anvil, usdc } from "../support/Anvil.ts"
import { builds } from "../support/ContractRig.ts"
import { generousLimits } from "../support/Limits.ts"
import { freePort } from "../support/Ports.ts"
import { until } from "../support/Service.ts"
import { readInvoice } from "../journeys/Shop.ts"
import { openContext, type OpenPage, openPage, type Visitor } from "./Page.ts"

interface Built extends Town {
  readonly node: Anvil
  /** Path of the merchant's pages. */
  readonly home: string
  /** Of the wallet that pays; it has USDC and ETH. */
  readonly wallet: string
  /** Signs the first owner, or a member named by e-mail, in: in a browser of its own. */
  readonly signIn: (member?: string, visitor?: Visitor) => Effect.Effect<OpenPage, never, Scope.Scope>
  /** An invoice of so many dollars that was paid in USDC on the chain. */
  readonly paidInvoice: (dollars: number) => Effect.Effect<string, never, Scope.Scope>
}

export class DashboardTown extends Context.Service<DashboardTown, Built>()("test/browser/DashboardTown") {
  static readonly layer = Layer.effect(
    DashboardTown,
    Effect.gen(function*() {
      const node = yield* anvil("base")
      const wallet = getAddress(node.accounts[1]!)
      for (const account of node.accounts.slice(0, 2)) yield* node.token("mint", [account, 1_000_000_000_000n])
      for (const contract of ["Payer", "Collector"]) {
        const data = `0x${"0".repeat(64)}${builds[contract]!.bytecode.slice(2)}`
        yield* node.send({ to: keylessDeployer, data, gas: 3_000_000n })
      }
      const options = {
        network: "base",
        environment: "devnet",
        rpc: [node.url],
        pollMillis: 25,
        // The first addresses of this key are the node's own accounts.
        xpub: devnetXpub,
        startIndex: 10
      }
      const ports = { http: yield* freePort, rpc: yield* freePort }
      const publicUrl = `http://localhost:${ports.http}`
      const deployment = { chains: [{ use: "evm", options }], http: { publicUrl }, limits: generousLimits }
      const town = yield* openTown(deployment, {}, ports)
      const { service, shop } = town
      const { merchant_id: merchant } = yield* service.keys
      return DashboardTown.of({
        ...town,
        node,
        wallet,
        home: `${publicUrl}/dashboard/${merchant}/devnet`,
        signIn: (member, visitor) =>
          Effect.gen(function*() {
            const link = yield* loginLink({ service, merchant }, member)
            const opened = yield* openPage(yield* openContext(visitor))
            yield* Effect.promise(async () => {
              await opened.page.goto(link)
              if (visitor?.javaScript === false) {
                await opened.page.getByLabel("Token of the link").fill(new URL(link).hash.slice("#t=".length))
              }
              await opened.page.getByRole("button", { name: "Continue" }).click()
              await opened.page.getByRole("heading", { name: "Overview" }).waitFor()
              // Its script has run then, which listens to keys.
              await opened.page.waitForLoadState("domcontentloaded")
            })
            return opened
          }),
        paidInvoice: (dollars) =>
          Effect.gen(function*() {
            const { invoice, shown } = yield* openInvoice(town, "base", "USDC", { amount_usd: dollars })
            yield* node.token("transfer", [shown.temp_address, BigInt(dollars) * 1_000_000n])
            yield* until("the invoice is paid", readInvoice(shop, invoice.id), ({ status }) => status === "paid")
            return invoice.id
          }) as Effect.Effect<string, never, Scope.Scope>
      })
    })
  )
}

/** Base units of USDC that an address holds. */
export const heldBy = (address: string) =>
  Effect.flatMap(DashboardTown, ({ node }) => {
    const data = `0x70a08231${address.slice(2).padStart(64, "0")}`
    return Effect.map(node.rpc("eth_call", { to: usdc, data }, "latest"), (found: string) => BigInt(found))
  })

/** Gives a browser passkeys, kept by an authenticator that says yes to everything; and its person one. */
export const givePasskey = ({ context, page }: OpenPage) =>
  Effect.promise(async () => {
    const devTools = await context.newCDPSession(page)
    await devTools.send("WebAuthn.enable")
    await devTools.send("WebAuthn.addVirtualAuthenticator", {
      options: {
        protocol: "ctap2",
        transport: "internal",
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true
      }
    })
    await page.getByRole("link", { name: "Your account" }).click()
    await page.getByLabel("Name of the new passkey").fill("Laptop")
    // A browser makes no passkey for a page that is behind another file's.
    await page.bringToFront()
    await page.getByRole("button", { name: "Add a passkey" }).click()
    await page.getByText("The passkey is added.").waitFor()
  })

/** Invites somebody with a role, who joins in a browser of its own. */
export const joinAs = (owner: Page, role: string) =>
  Effect.gen(function*() {
    const colleague = yield* openPage(yield* openContext())
    yield* Effect.promise(async () => {
      await owner.getByRole("link", { name: "Team" }).click()
      await owner.getByLabel("E-mail").fill(`${role}@shop.example`)
      await owner.getByLabel("Role").last().selectOption(role)
      await owner.getByRole("button", { name: "Invite" }).click()
      const invitation = await owner.getByText("/dashboard/invitation#t=").textContent()
      await colleague.page.goto(invitation!)
      await colleague.page.getByLabel("Name").fill(`A ${role}`)
      await colleague.page.getByRole("button", { name: "Join" }).click()
      await colleague.page.getByRole("heading", { name: "Overview" }).waitFor()
    })
    return colleague
  })
