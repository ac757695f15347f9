// Parts of a page that change while somebody looks.

const FIELDS = "textarea, input:not([type])";

// Puts new HTML in place; what is open or ticked stays so, what is written stays written, and what has the focus keeps it.
export function replace(element, html) {
  const active = element.contains(document.activeElement) ? document.activeElement : null;
  const focused = active ? key(active) : "";
  const cursor = active?.matches(FIELDS) ? [active.selectionStart, active.selectionEnd] : null;
  const fields = () => [...element.querySelectorAll(FIELDS)];
  const written = new Map(fields().filter((each) => each.value !== each.defaultValue).map((each) => [key(each), each.value]));
  const before = new Map([...element.querySelectorAll("details[id], article[id] details")].map((each) => [key(each), each.open]));
  const ticked = new Set([...element.querySelectorAll("input:checked")].map((each) => `${each.name} ${each.value}`));
  element.innerHTML = html;
  for (const each of element.querySelectorAll("input[type=checkbox]")) each.checked ||= ticked.has(`${each.name} ${each.value}`);
  for (const each of element.querySelectorAll("details[id], article[id] details")) {
    if (before.has(key(each))) each.open = before.get(key(each));
  }
  for (const each of fields()) each.value = written.get(key(each)) ?? each.value;
  const found = focused && [...element.querySelectorAll("a, button, summary, input, textarea")].find((each) => key(each) === focused);
  if (found) found.focus({ preventScroll: true });
  if (found && cursor) found.setSelectionRange(...cursor);
}

function key(element) {
  const at = element.closest("[id]")?.id ?? "";
  if (element.matches(FIELDS)) return `${at} ${element.name}`;
  return `${at} ${element.tagName} ${element.textContent.trim().slice(0, 40)} ${element.dataset.choice ?? element.value ?? ""}`;
}
