/** Makes a page look like a newer one, and leaves alone what is the same: what has the focus keeps it. */

/** What the script itself fills, and keys of forms, which are new in each page and mean the same. */
const isOwn = (element: Element): boolean => element.matches("[data-own],input[name=form_key]")

/** Whether somebody types there, or has: it waits for the next time. */
const isInUse = (element: Element): boolean =>
  [element, ...element.querySelectorAll("input,select,textarea")].some((field) =>
    (field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement)
    && field.type !== "hidden" && (field === document.activeElement || field.value !== field.defaultValue)
  )

const copyAttributes = (from: Element, to: Element): void => {
  for (const { name } of [...from.attributes]) {
    if (!to.hasAttribute(name) && name !== "open") from.removeAttribute(name)
  }
  for (const { name, value } of to.attributes) if (from.getAttribute(name) !== value) from.setAttribute(name, value)
}

export const morph = (from: Element, to: Element): void => {
  const [old, next] = [[...from.childNodes], [...to.childNodes]]
  const isAlike = old.length === next.length && old.every((node, index) => node.nodeName === next[index]!.nodeName)
  copyAttributes(from, to)
  if (!isAlike) {
    if (!isInUse(from)) from.replaceChildren(...next)
    return
  }
  old.forEach((node, index) => {
    const other = next[index]!
    if (node instanceof Element) {
      if (!isOwn(node) && !node.isEqualNode(other)) morph(node, other as Element)
    } else if (node.nodeValue !== other.nodeValue) node.nodeValue = other.nodeValue
  })
}
