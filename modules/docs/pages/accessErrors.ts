/** Errors of who is calling and from where: statuses 401, 403 and 421, and the limit of calls. */
import type { ErrorCode } from "../../../schemas/Errors.ts"
import { type ErrorNote, get, invoice, keep, newKey, send, session, simulate } from "./ErrorNote.ts"

export const accessErrors = {
  UNAUTHORIZED: {
    cause: "The call carries no credential that this route reads. A key in the query does not count.",
    fix: "Send your key in the header `x-api-key`, or a token as `Authorization: Bearer`.",
    example: [get("/api/v1/invoices", "nobody")]
  },
  API_KEY_INVALID: {
    cause: "The key is unknown, revoked or expired, or was cut when it was copied.",
    fix: "Make a new key; a lost one cannot be shown again.",
    example: [get("/api/v1/invoices", "nobody", { "x-api-key": "mk_dev_no_such_key" })]
  },
  TOKEN_INVALID: {
    cause: "The access token or the ticket of a websocket was not issued here, was changed, or was used before.",
    fix: "Sign in again, or get a new ticket: a ticket opens one connection. API keys go into `x-api-key`, not here.",
    example: [get("/api/v1/invoices", "nobody", { Authorization: "Bearer abc" })]
  },
  TOKEN_EXPIRED: {
    cause: "The access token, or the token of a payment's websocket, has ended.",
    fix: "Get a new access token with your refresh token; for the websocket ask `payment-addresses` again.",
    example: { requirement: "It takes a token that is older than its lifetime: 15 minutes for access tokens." }
  },
  SESSION_INVALID: {
    cause:
      "`x-session-token` and `x-signature` are not the pair that one invoice's creation answered, or one is missing.",
    fix: "Send both exactly as they were answered. The pair of one invoice does not open another.",
    example: [get("/api/v1/payments/session-details", "nobody")]
  },
  SESSION_EXPIRED: {
    cause: "The invoice ended more than 30 days ago, and its session with it.",
    fix: "Make a new invoice. The merchant still reads the old one with a key.",
    example: { requirement: "It takes an invoice that ended 30 days ago." }
  },
  NONCE_INVALID: {
    cause: "The sign-in message was not issued here, was used already, or is older than its lifetime.",
    fix: "Ask `POST /api/v1/auth/nonce` for a new message, sign exactly that text, and send both at once.",
    example: [send("POST", "/api/v1/auth/verify", { message: "Let me in", signature: "0x00" }, "nobody")]
  },
  SIGNATURE_INVALID: {
    cause: "The signature does not belong to the message and the wallet in it.",
    fix: "Sign the message byte for byte as it was issued, with the wallet whose address asked for it.",
    example: [
      "MESSAGE=$(" + send(
        "POST",
        "/api/v1/auth/nonce",
        { address: "0x90F79bf6EB2c4f870365E785982E1f101E93b906", network: "base" },
        "nobody"
      ) + " | node -p 'JSON.stringify(JSON.parse(require(\"fs\").readFileSync(0)).data.message)')",
      "echo \"{\\\"message\\\": $MESSAGE, \\\"signature\\\": \\\"0x00\\\"}\" | "
      + send("POST", "/api/v1/auth/verify", "@-", "nobody")
    ]
  },
  REFRESH_REUSED: {
    cause: "A refresh token was sent a second time: one of two holders is a thief, so the whole session has ended.",
    fix: "Sign in again. Keep the new refresh token of each answer, and never send one twice.",
    example: { requirement: "It takes a wallet that has signed in, and its first refresh token sent twice." }
  },
  SCOPE_MISMATCH: {
    cause: "The key's scope does not allow the call.",
    fix:
      "Checkout, carts and orders take a commerce key (`ck_…`); keys, settings and simulated payments a merchant key "
      + "(`mk_…`).",
    example: [get("/api/commerce/merchant/carts?customer_id=cust_1", "merchant")]
  },
  PERMISSION_DENIED: {
    cause: "The role of whoever calls, or the permissions of the API key, do not include what the call does.",
    fix: "`details.right` is what it takes and `details.roles` who has it: ask one of them, or use a key with the "
      + "permission. A key never does more than the role of whoever made it.",
    example: [
      keep(
        "READER",
        "data.key",
        send("POST", "/api/v1/api-keys", { name: "Read only", scope: "merchant", permissions: ["read"] })
      ),
      send("POST", "/api/v1/invoices", { amount_usd: 5 }, "nobody", { "x-api-key": "$READER", ...newKey })
    ]
  },
  FRESH_PROOF_REQUIRED: {
    cause:
      "The call lets real money go, or gives somebody a way to it, and you signed in more than 5 minutes ago: a session "
      + "that was stolen or left open must not be enough for that.",
    fix:
      "With a token: sign in again by `POST /api/v1/auth/nonce` and `POST /api/v1/auth/verify`, and send the new one; a "
      + "refreshed token is as old as its sign-in. In the dashboard: answer with your passkey, and go on.",
    example: { requirement: "It takes a wallet that signed in more than 5 minutes ago, on mainnet." }
  },
  APPROVAL_PROOF_REQUIRED: {
    cause: "Somebody approved real money without a signature of what it approves: a session alone lets none go.",
    fix:
      "Ask `POST …/approve/challenge`, show its `text` to the person, and send what its passkey or wallet makes of it as "
      + "`proof`. In the dashboard the button does so; without a passkey or a wallet add one under your name first.",
    example: { requirement: "It takes a refund or a batch on mainnet that waits for approval." }
  },
  CREDENTIAL_NOT_ALLOWED: {
    cause:
      "A merchant's key or token came to a route that only the customer's browser calls, or a key accepted an exception "
      + "of the type `screened`.",
    fix: "Payment pages take the session pair only: remove it. Never send a key to a browser; a key that was, is lost. "
      + "`screened` is accepted by an owner, with the token of a signed-in wallet.",
    example: [...session, get("/api/v1/payments/session-details", "payor", { "x-api-key": "$KEY" })]
  },
  ENVIRONMENT_FORBIDDEN: {
    cause: "A key was used for the environment it does not belong to.",
    fix:
      "Use a key of that environment. Only keys of merchant scope may read the other one, and no key writes there or "
      + "gets a payment link of it.",
    example: [get("/api/v1/events?environment=mainnet", "commerce")]
  },
  DEVNET_ONLY: {
    cause: "A key of mainnet called the simulator.",
    fix: "Simulate with a devnet key. Nothing on mainnet can be simulated.",
    example: { requirement: "It takes a key of mainnet." }
  },
  SIGNUP_CLOSED: {
    cause: "The wallet signs in for nobody here, and this deployment makes no merchants by sign-in.",
    fix: "Link the wallet to your account first (`POST /api/v1/auth/wallets`), or ask the operator for one.",
    example: { requirement: "It takes a signed message of a wallet that nobody has linked." }
  },
  ORIGIN_NOT_ALLOWED: {
    cause: "A page of this origin opened a merchant's stream, and the deployment does not name the origin.",
    fix: "Ask the operator to add it to `http.allowedOrigins`, or open the stream from your server.",
    example: [get("/ws/merchant/events", "merchant", {
      "Connection": "Upgrade",
      "Upgrade": "websocket",
      "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
      "Origin": "https://elsewhere.example"
    })]
  },
  IP_NOT_ALLOWED: {
    cause: "The key has an `ip_allowlist`, and the call came from another address.",
    fix: "Call from an address of the list, or change it: `PATCH /api/v1/api-keys/{id}`.",
    example: [
      keep(
        "OTHER_KEY",
        "data.key",
        send("POST", "/api/v1/api-keys", {
          name: "Far away",
          scope: "merchant",
          ip_allowlist: ["192.0.2.1"]
        })
      ),
      get("/api/v1/invoices", "nobody", { "x-api-key": "$OTHER_KEY" })
    ]
  },
  MAINNET_NOT_ENABLED: {
    cause: "The call is about mainnet, and this deployment serves devnet only.",
    fix: "Use a devnet key, or run a deployment whose `environments` name mainnet.",
    example: [get("/api/v1/networks/status?environment=mainnet", "nobody")]
  },
  DEVNET_NOT_ENABLED: {
    cause: "The call is about devnet, and this deployment serves mainnet only.",
    fix: "Use a mainnet key, or run a deployment whose `environments` name devnet.",
    example: { requirement: "It takes a deployment of mainnet alone." }
  },
  HOST_NOT_ALLOWED: {
    cause: "The internal port was called by a host name, which a web page could do by DNS rebinding.",
    fix: "Call it by `localhost` or an IP address, or ask the operator to add the name to `rpc.allowedHosts`.",
    example: { requirement: "Only the internal port asks by which name it was called." }
  },
  RATE_LIMIT_EXCEEDED: {
    cause: "More calls came than the key, the session or the address may make: 100 in 60 seconds for a key.",
    fix: "Wait for the seconds in `Retry-After`, then try again; the clients of this project do it for you. "
      + "`RateLimit-Remaining` tells before it happens. To hear of changes take webhooks or a websocket instead of asking.",
    example: [
      ...session,
      `for N in $(seq 120); do ${get("/api/v1/payments/payment-status", "payor")} > /dev/null; done`,
      get("/api/v1/payments/payment-status", "payor")
    ]
  },
  ROUTE_LOCKED: {
    cause: "A part was paid with one token, and the address of another was asked for.",
    fix:
      "Ask for the address of the same token and network again: `session-details` names them in `locked_network` and "
      + "`locked_token_id`.",
    example: [
      ...session,
      keep(
        "TOKENS",
        "filter(({ network }) => network === \"base\").map(({ id }) => id).join(\" \")",
        get("/api/v1/payments/available-tokens", "payor")
      ),
      "FIRST=${TOKENS%% *}; SECOND=${TOKENS##* }",
      `${simulate("{\"action\": \"partial\", \"network\": \"base\", \"token_id\": $FIRST}")} > /dev/null`,
      send("POST", "/api/v1/payments/payment-addresses", "{\"network\": \"base\", \"token_id\": $SECOND}", "payor")
    ]
  },
  INVOICE_NOT_PAYABLE: {
    cause: "The invoice is paid, canceled or over, so it takes no payment.",
    fix: "Read its status. What is sent all the same is kept, and the merchant decides about it.",
    example: [invoice, `${simulate({ action: "pay" })} > /dev/null`, simulate({ action: "pay" })]
  }
} satisfies { readonly [C in ErrorCode]?: ErrorNote }
