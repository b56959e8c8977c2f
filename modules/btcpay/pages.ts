/** The plain pages of shops, and the script by which a plugin of a shop opens the payment page. Pure. */
import { styleHash } from "../checkout/plugin.ts"

const style = ":root{color-scheme:light dark;font:1rem/1.5 system-ui,sans-serif}"
  + "main{max-inline-size:36rem;margin:2rem auto;padding-inline:1.25rem;overflow-wrap:anywhere}"
  + "h1{font-size:1.5rem;line-height:1.25}li{margin-block:.75rem}"

export const plainPageHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": `default-src 'none'; style-src '${
    styleHash(style)
  }'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`,
  "referrer-policy": "no-referrer"
}

const page = (title: string, content: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">`
  + `<title>${title}</title><style>${style}</style></head><body><main><h1>${title}</h1>${content}</main></body></html>`

/** The links to an invoice in a shop's administration lead here: only who signs in may see the invoice. */
export const accountPage = page(
  "See your Tillwire account",
  "<p>This invoice is in your Tillwire account. Sign in to the dashboard there and search for its number.</p>"
)

/** A plugin's wizard opens this page: it says how to enter the key by hand. */
export const authorizePage = page(
  "Connect your shop",
  "<p>Enter the connection by hand; it takes two minutes.</p><ol>"
    + "<li>Sign in to your Tillwire dashboard, open <b>API keys</b> and make a key for <b>A shop built for BTCPay Server "
    + "only</b>. The page that shows the key shows the Store ID too.</li>"
    + "<li>In WooCommerce choose <b>Show all connection settings</b>; in PrestaShop open the settings of the module.</li>"
    + "<li>Enter the server URL as it stands in this page's address, up to <b>/api-keys</b>, and the key. If the form takes "
    + "letters and digits only, leave the two underscores of the key out.</li>"
    + "<li>As Store ID enter what stood beside the key: the number of your merchant and the environment, such as "
    + "<b>123-mainnet</b>.</li></ol>"
    + "<p>The guide is at /docs/guides/btcpay.</p>"
)

/**
 * The script that plugins load to show the payment page in a modal over the shop. It has the functions that they call,
 * and opens the payment page in the whole window instead. The page's return link leads the buyer back.
 */
export const modalScript = (base: string): string =>
  `(function(){"use strict";var s=document.currentScript;var p=s&&s.src?s.src.replace(/\\/modal\\/btcpay\\.js.*$/,""):${
    JSON.stringify(base)
  };function none(){}function open(id){window.top.location.href=p+"/i/"+encodeURIComponent(id)}`
  + `window.btcpay={setApiUrlPrefix:function(u){p=String(u).replace(/\\/+$/,"")},showInvoice:open,appendInvoiceFrame:none,`
  + `appendAndShowInvoiceFrame:open,showFrame:none,hideFrame:none,onModalWillEnter:none,onModalWillLeave:none,`
  + `onModalReceiveMessage:none}})();`
