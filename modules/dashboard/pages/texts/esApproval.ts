/** What is said to whoever approves that money goes out, in Spanish. */
import type { ApprovalTexts } from "../Texts.ts"

export const approvalTexts: ApprovalTexts = {
  title: "Lo que usted aprueba",
  text:
    "Esto es lo que firma, palabra por palabra. Se guarda con su aprobación, para que se pueda comprobar más tarde.",
  approve: "Aprobar",
  withoutSigning: "Aprobar sin firma, ya que es dinero ficticio",
  changed: "Esto cambió desde que usted abrió la página. Léalo de nuevo y vuelva a pulsar.",
  needsScript: "Para aprobar dinero real se necesita una firma, que requiere un script que este navegador no ejecuta.",
  nothingToSign:
    "Para aprobar dinero real necesita una llave de acceso o una billetera suya. Añada una a su cuenta: un día después podrá aprobar dinero real con ella.",
  toAccount: "Añadir una llave de acceso",
  waits: "Usted inició sesión con un enlace o acaba de unirse. Podrá aprobar dinero real a partir de:",
  wallet: {
    pay: "Aprobar con {wallet}",
    asking: "Lea el texto en {wallet} y fírmelo. No se envía ni se gasta nada.",
    declined: "Usted rechazó en {wallet}.",
    busy: "{wallet} ya está preguntando. Ábrala y responda allí.",
    locked: "{wallet} está bloqueada. Ábrala y vuelva a pulsar.",
    unknown: "{wallet} no pudo firmar. Vuelva a intentarlo o use una llave de acceso."
  }
}
