/** Passkeys, which only a browser makes and answers with: to sign in, and a new one of a person's. */

/** Whether this browser reads what the service asks passkeys for. */
export const canUsePasskeys = typeof PublicKeyCredential !== "undefined"
  && typeof PublicKeyCredential.parseRequestOptionsFromJSON === "function"

const answerWith = (form: HTMLFormElement, credential: PublicKeyCredential): void => {
  form.querySelector<HTMLInputElement>("[name=answer]")!.value = JSON.stringify(credential.toJSON())
}

/** Where the service does not ask, the form goes off without an answer, and the page that comes says why. */
const signInBy = async (button: HTMLButtonElement): Promise<void> => {
  const form = button.form!
  const response = await fetch(button.dataset["passkey"]!, { method: "POST" })
  if (response.ok) {
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(await response.json())
    const credential = await navigator.credentials.get({ publicKey }) as PublicKeyCredential | null
    if (credential === null) return
    answerWith(form, credential)
  }
  form.submit()
}

const makePasskey = async (button: HTMLButtonElement): Promise<void> => {
  const form = button.form!
  if (!form.reportValidity()) return
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(JSON.parse(button.dataset["newPasskey"]!))
  const credential = await navigator.credentials.create({ publicKey }) as PublicKeyCredential | null
  if (credential === null) return
  answerWith(form, credential)
  form.submit()
}

const start = (selector: string, act: (button: HTMLButtonElement) => Promise<void>): void => {
  const button = document.querySelector<HTMLButtonElement>(selector)
  if (button === null || !canUsePasskeys) return
  button.hidden = false
  button.addEventListener("click", () => {
    button.disabled = true
    act(button).catch((error: unknown) => {
      const place = document.getElementById("passkey-fault")
      if (place !== null) place.textContent = error instanceof Error ? error.message : ""
    }).finally(() => {
      button.disabled = false
    })
  })
}

export const startPasskeys = (): void => {
  start("button[data-passkey]", signInBy)
  start("button[data-new-passkey]", makePasskey)
}
