/** Spanish, without a country; formal. */
import { plural, type Texts } from "../Texts.ts"

const found = plural("es", { one: "# forma de pago", many: "# de formas de pago", other: "# formas de pago" })
const minutesLeft = plural("es", {
  one: "El precio se mantiene # minuto más",
  many: "El precio se mantiene # de minutos más",
  other: "El precio se mantiene # minutos más"
})

export const es: Texts = {
  locale: "es",
  language: "Español",
  direction: "ltr",

  testMode: "Modo de prueba: sin dinero real",
  invoice: "Factura",
  help: "Ayuda",
  chooseLanguage: "Idioma",
  change: "Cambiar",
  checkPayment: "Comprobar el pago",
  amountDue: "Importe a pagar",

  stepWaiting: "En espera",
  stepConfirming: "Confirmando",
  stepPaid: "Pagado",
  progress: "Progreso del pago",

  chooseTitle: "Elija cómo pagar",
  chooseLabel: "Moneda y red",
  search: "Buscar moneda o red",
  found,
  nothingFound: "Sin resultados",
  noMethods: (merchant) => `En este momento no hay formas de pago disponibles. Consulte a ${merchant}.`,
  proceed: "Continuar",
  minimum: (amount) => `desde ${amount}`,
  networkDown: "red con problemas",
  noPriceNow: "sin precio por ahora",
  notAvailable: "no disponible",

  waitingTitle: "Esperando su pago",
  scanOrCopy: "Escanee el código con su billetera o copie los datos de abajo",
  paymentLink: "Enlace de pago",
  addressOnly: "Solo dirección",
  qrName: (amount, address, network) => `Código QR para pagar ${amount} a ${address} en ${network}`,
  qrAddressName: (address, network) => `Código QR de la dirección ${address} en ${network}`,
  priceHeldFor: "Precio garantizado durante",
  invoiceEnds: "Vencimiento de la factura",
  amountToSend: "Importe a enviar",
  remainingToSend: "Importe restante",
  addressOn: (network) => `Dirección en ${network}`,
  memo: "Memo",
  memoNeeded: "Sin este memo no se puede identificar su pago.",
  sendOnly: (token, network) => `Envíe solo ${token} en ${network}.`,
  otherwiseLost: "Lo enviado en otros tokens o redes no se puede recuperar.",
  openInWallet: "Abrir en la billetera",
  useAnother: "Usar otra moneda",
  payingWith: (token, network) => `Paga con ${token} en ${network}`,
  copy: "Copiar",
  copyOf: (what) => `Copiar: ${what}`,
  copied: "Copiado",
  minutesLeft,

  quoteEndedTitle: "Hay que actualizar el precio",
  quoteEnded: "El precio se mantuvo unos minutos. Obtenga uno nuevo: la dirección es la misma. " +
    "Lo que ya haya enviado no se pierde.",
  newPrice: "Obtener nuevo precio",
  noPriceTitle: "Sin precio por ahora",
  noPrice: "En este momento no hay precio para esta moneda. La dirección es correcta; " +
    "espere un poco o use otra moneda.",

  confirmingTitle: "Pago detectado, en confirmación",
  mayClose: (merchant) => `Puede cerrar esta página. ${merchant} recibirá un aviso cuando se confirme.`,
  confirmations: (done, needed) => `${done} de ${needed} confirmaciones`,
  received: "Recibido",
  transaction: "Transacción",
  viewTransaction: (hash) => `Ver la transacción ${hash} en un explorador de bloques`,

  partialTitle: "Llegó una parte del pago",
  partial: (received, remaining) => `Recibimos ${received}. Envíe los ${remaining} restantes a la misma dirección.`,
  stillPayable: "El plazo terminó, pero todavía puede enviar el resto.",

  paidTitle: "Pago completado",
  paid: (merchant) => `${merchant} ha recibido su pago.`,
  overpaidTitle: (extra) => `Pagado, con ${extra} de más`,
  overpaid: (extra, merchant) => `Envió ${extra} de más. Solicite la devolución a ${merchant}.`,
  returnTo: (merchant) => `Volver a ${merchant}`,
  paidAt: "Pagado el",
  total: "Total",

  expiredTitle: "Este pago ha vencido",
  expired: "No se recibió nada. No envíe nada a la dirección anterior.",
  startAgain: "Empezar de nuevo",
  expiredContact: (merchant) => `Solicite una nueva factura a ${merchant}.`,

  lateTitle: "Su pago llegó tarde",
  late: (received, merchant) => `Recibimos ${received} después del plazo. ${merchant} puede aceptarlo o devolverlo.`,
  expiredPartialTitle: "El plazo terminó y solo llegó una parte del pago",
  expiredPartial: (received, merchant) =>
    `Recibimos ${received}, menos de lo debido. ${merchant} puede aceptarlo o devolverlo.`,
  doNotPayAgain: "No vuelva a pagar.",
  contact: (merchant) => `Contactar con ${merchant}`,
  contactNobody: (merchant) => `Póngase en contacto con ${merchant} e indique la factura.`,

  canceledTitle: "Esta factura fue cancelada",
  canceled: (merchant) => `${merchant} la canceló. No envíe nada.`,

  reversedTitle: "La red revirtió su pago",
  reversed: "La red anuló su transacción y el pago no llegó. Revise su billetera: el dinero debería estar allí.",
  payAgain: "Puede pagar de nuevo.",
  rejectedTitle: "Recibimos algo distinto",
  rejected: (merchant) => `Llegó una transferencia que esta factura no acepta. Solicite la devolución a ${merchant}.`,

  refundTitle: "¿A dónde enviar un reembolso?",
  refundAddress: (network) => `Su dirección en ${network}`,
  refundSave: "Guardar dirección",
  refundSaved: "Guardada. Un reembolso se enviará allí.",
  refundWrong: (network) => `No es una dirección de ${network}. Compruébela, por favor.`,

  offline: "Sin conexión. La página se actualizará sola en cuanto vuelva.",
  networkDegraded: (network) => `${network} tiene problemas en este momento. Su pago puede tardar más en aparecer.`,

  simulateTitle: "Simular pago",
  simulateNote: "Modo de prueba: dinero ficticio, sin billetera.",
  simulatePay: "Pagar",
  simulatePartial: "Pagar la mitad",
  simulateOver: "Pagar de más",
  simulateLate: "Pagar tarde",

  sessionEndedTitle: "Este enlace no abre ningún pago",
  sessionEnded: "Está incompleto o ha caducado. Abra de nuevo el enlace que recibió o pida uno nuevo a la tienda.",
  notFoundTitle: "Aquí no hay nada",
  notFound: "Esta dirección web no lleva a ningún pago. Abra de nuevo el enlace que recibió.",
  tooManyTitle: "Demasiados intentos",
  tooMany: "Espere un momento y vuelva a cargar la página.",
  unavailableTitle: "Un momento, por favor",
  unavailable: "Ahora mismo no podemos mostrar su pago. Lo que ya haya enviado no se pierde. Espere unos segundos y " +
    "vuelva a intentarlo.",
  failedTitle: "Algo salió mal",
  failed: "No se cambió nada. Vuelva a cargar la página en un momento.",
  tryAgain: "Reintentar"
}
