/** The books of an invoice between the operator API and the ledger. */
import { Effect } from "effect"
import { jsonText } from "../../../runtime/Http.ts"
import * as Operations from "../../../runtime/Operations.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { signedUsdWire } from "../../../schemas/Money.ts"
import { Invoices } from "../../invoices/plugin.ts"
import { maximumTransactions, OperatorLedgerApi } from "../operator.ts"
import { accountSums, transactionObject } from "../rules.ts"
import { Ledger } from "../service.ts"

export const operatorHandlers = Operations.group(
  OperatorLedgerApi,
  "operatorLedger",
  Effect.fn(function*(group) {
    const invoices = yield* Invoices
    const ledger = yield* Ledger

    return group.handle(
      "ofInvoice",
      Effect.fnUntraced(function*({ params: { invoice_id: invoiceId } }) {
        const current = yield* invoices.find(invoiceId)
        if (current === null) return yield* publicError("INVOICE_NOT_FOUND")
        const { environment, merchantId } = current.invoice
        const found = yield* ledger.ofInvoice({
          merchantId,
          invoiceId,
          partIds: [...current.payments, ...current.exceptions].map(({ id }) => id)
        }, maximumTransactions + 1)
        const shown = found.slice(0, maximumTransactions)
        const data = {
          object: "invoice_ledger",
          invoice_id: invoiceId,
          merchant_id: merchantId,
          environment,
          transactions: shown.map((each) => transactionObject(each, (asset) => ledger.tokenOf(environment, asset))),
          sums: accountSums(shown.flatMap(({ entries }) => entries)).map(({ account, asset, units, usdMillis }) => ({
            account,
            asset,
            units: units.toString(),
            usd_millis: signedUsdWire(usdMillis)
          })),
          has_more: found.length > maximumTransactions
        }
        return jsonText(JSON.stringify({ success: true, data }))
      })
    )
  })
)
