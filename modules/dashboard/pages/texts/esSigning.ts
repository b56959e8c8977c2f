/** Spanish: what is signed by a wallet. `{wallet}` and the like are filled in by the script. */
import type { SigningTexts } from "../Texts.ts"

export const signingTexts: SigningTexts = {
  signing: {
    title: "Firmar y pagar",
    text:
      "Su billetera paga estas líneas. Cuentan como pagadas cuando la red lo muestra, diga lo que diga una billetera o una persona.",
    collectText:
      "Cualquier billetera puede enviar esto. No puede pagar a nadie más que a su propia billetera receptora.",
    part: (part, parts) => parts === 1 ? "Todas las líneas" : `Parte ${part} de ${parts}`,
    wallets: "Billeteras en este navegador",
    needsScript:
      "Una billetera de este navegador requiere un script que este navegador no ejecuta. Use una de las formas de abajo.",
    form: "Forma",
    formats: {
      eip5792: "Llamadas (EIP-5792)",
      transactions: "Transacciones, una por una",
      safe: "Safe, Transaction Builder",
      csv: "Lista (CSV)",
      solana: "Transacción de Solana",
      ton: "Mensaje de TON Connect",
      sui: "Transacción de Sui",
      cardano: "Transacción de Cardano"
    },
    show: "Mostrar",
    payloadText:
      "Esto es lo que recibe la billetera. Muéstrelo cuantas veces quiera: no cambia mientras se pueda firmar.",
    back: "Volver al lote",
    already: "¿Lo envió desde otra billetera?",
    hash: "Su transacción",
    hashHint: "La buscamos allí primero. La red decide qué se pagó.",
    tell: "Buscar allí",
    wallet: {
      pay: "Firmar con {wallet}",
      asking: "Confirme en {wallet}. Esta página dice «Hecho» solo cuando la red lo muestra.",
      step: "Confirme el paso {step} de {steps} en {wallet}.",
      waiting: "El paso {step} de {steps} se envió. El siguiente llega cuando esté en un bloque.",
      sent: "Enviado con {wallet}. Esperando a que la red lo muestre.",
      declined: "Usted rechazó en {wallet}. Pulse otra vez para continuar.",
      busy: "{wallet} ya está preguntando. Ábrala y responda allí.",
      locked: "{wallet} está bloqueada. Ábrala y vuelva a pulsar.",
      chain: "{wallet} no puede usar esta red. Use otra billetera u otra forma.",
      account: "Este lote se paga desde {account}. Elija esa cuenta en {wallet} y vuelva a pulsar.",
      given: "{wallet} ya tiene esto. Ábrala y mire allí: nunca se paga dos veces.",
      funds: "La cuenta no tiene suficiente para esto.",
      fee: "La cuenta no tiene suficiente para la comisión de red.",
      failed: "La red lo rechazó. Mire la transacción en {wallet} y vuelva a pulsar.",
      unknown:
        "{wallet} no pudo enviarlo. Que se sepa, no se envió nada; nunca se paga dos veces, así que puede volver a pulsar."
    }
  }
}
