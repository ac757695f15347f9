// Parts of a page that change while somebody looks.

// Puts new HTML in place; what is open stays open, and what has the focus keeps it.
export function replace(element, html) {
  const focused = element.contains(document.activeElement) ? key(document.activeElement) : "";
  const before = new Map([...element.querySelectorAll("details[id], article[id] details")].map((each) => [key(each), each.open]));
  element.innerHTML = html;
  for (const each of element.querySelectorAll("details[id], article[id] details")) {
    if (before.has(key(each))) each.open = before.get(key(each));
  }
  if (focused) [...element.querySelectorAll("a, button, summary")].find((each) => key(each) === focused)?.focus();
}

function key(element) {
  const at = element.closest("[id]")?.id ?? "";
  return `${at} ${element.tagName} ${element.textContent.trim().slice(0, 40)} ${element.dataset.choice ?? ""}`;
}
