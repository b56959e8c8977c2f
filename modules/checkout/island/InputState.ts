/** What the payor has done to a screen, taken over to the next one. */

/** What makes a control the same one in the next fragment. */
const keyOf = (control: Element): string => {
  const { id, name, tagName, textContent, type, value } = control as HTMLInputElement
  const label = control.getAttribute("aria-label") ?? textContent
  return tagName + (id || (name ? name + (/radio|submit/.test(type) ? value : "") : label))
}

type Control = HTMLInputElement & HTMLDetailsElement

const controlsIn = (
  state: HTMLElement
) => [...state.querySelectorAll<Control>("a,button,input,select,textarea,summary,details,[tabindex]")]

/** Makes `same` what `control` is, where the payor has changed that; a choice stays the one that was shown. */
const restoreControl = (control: Control, same: Control): void => {
  if (control.tagName === "DETAILS") same.open = control.open
  if (control.type === "radio") {
    // Also what the server chose stays: another default, of other fees, would change what the next press pays with.
    // What cannot be chosen any more leaves the choice to the server.
    if (control.checked && !same.disabled) same.checked = true
  } else if (control.defaultValue !== undefined && control.value !== control.defaultValue) {
    same.value = control.value
  }
}

const restoreFocus = (control: Control, same: Control): void => {
  same.focus({ preventScroll: true })
  if (control.selectionStart != null) same.setSelectionRange(control.selectionStart, control.selectionEnd)
}

/** Notes what the payor has typed, chosen, opened and reached, and gives what puts it into the next fragment. */
export const captureInput = (state: HTMLElement): () => void => {
  const activeElement = document.activeElement
  const controls = controlsIn(state).map((control) => ({ control, key: keyOf(control) }))
  const scrollPositions = [...state.querySelectorAll("[id]")].filter(({ scrollTop }) => scrollTop > 0)
    .map(({ id, scrollTop }) => ({ id, scrollTop }))
  return () => {
    const next = controlsIn(state)
    for (const { control, key } of controls) {
      const same = next.find((other) => keyOf(other) === key)
      if (!same) continue
      restoreControl(control, same)
      // Where it is gone, the focus goes nowhere: only the payor's own doing moves it (WCAG 3.2.5).
      if (control === activeElement) restoreFocus(control, same)
    }
    for (const { id, scrollTop } of scrollPositions) {
      const box = document.getElementById(id)
      if (box) box.scrollTop = scrollTop
    }
  }
}
