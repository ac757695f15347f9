// Parts of a page that change while somebody looks.

// Puts new HTML in place; what is open or ticked stays so, and what has the focus keeps it.
export function replace(element, html) {
  const focused = element.contains(document.activeElement) ? key(document.activeElement) : "";
  const before = new Map([...element.querySelectorAll("details[id], article[id] details")].map((each) => [key(each), each.open]));
  const ticked = new Set([...element.querySelectorAll("input:checked")].map((each) => `${each.name} ${each.value}`));
  element.innerHTML = html;
  for (const each of element.querySelectorAll("input[type=checkbox]")) each.checked ||= ticked.has(`${each.name} ${each.value}`);
  for (const each of element.querySelectorAll("details[id], article[id] details")) {
    if (before.has(key(each))) each.open = before.get(key(each));
  }
  if (focused) [...element.querySelectorAll("a, button, summary, input")].find((each) => key(each) === focused)?.focus();
}

function key(element) {
  const at = element.closest("[id]")?.id ?? "";
  return `${at} ${element.tagName} ${element.textContent.trim().slice(0, 40)} ${element.dataset.choice ?? element.value ?? ""}`;
}
