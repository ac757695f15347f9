// Parts of a page that change while somebody looks.

const toggled = new WeakSet(); // lists that a person has opened or closed

document.addEventListener("click", (event) => {
  const summary = event.target.closest("summary");
  if (summary) toggled.add(summary.parentElement);
});

// Makes the HTML of an element what the server says it is now. Only what differs is touched: what is written, ticked, opened, selected,
// played or has the focus stays so, and a screen reader says only what is new. `prepare` may change the new HTML before, and return the
// children that it is of, where it is not of all.
export function replace(element, html, prepare) {
  const fresh = document.createElement("template");
  const focused = document.activeElement;
  fresh.innerHTML = html;
  fit(element, fresh.content, prepare?.(fresh.content));
  if (focused.isConnected && focused !== document.activeElement) focused.focus({ preventScroll: true }); // it was moved
}

// What a node is known by where others come before it or go: its id; a row's first box or link.
function name(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return "";
  const first = node.id || !node.matches("tr, li") ? null : node.querySelector("input[type=checkbox], a[href]");
  return node.id || first?.getAttribute("value") || first?.getAttribute("href") || "";
}

function fit(element, fresh, old = [...element.childNodes]) {
  const wanted = [...fresh.childNodes];
  while (old.length && wanted.length && old[0].isEqualNode(wanted[0])) {
    old.shift();
    wanted.shift();
  }
  let after = null; // what comes behind all that differs
  while (old.length && wanted.length && old.at(-1).isEqualNode(wanted.at(-1))) {
    after = old.pop();
    wanted.pop();
  }
  const spare = new Set(old);
  const pairs = new Map();
  const pair = (node, found) => {
    if (!found) return;
    pairs.set(node, found);
    spare.delete(found);
  };
  for (const node of wanted) {
    const known = name(node);
    if (known) pair(node, old.find((each) => spare.has(each) && each.nodeName === node.nodeName && name(each) === known));
  }
  for (const node of wanted) {
    if (!name(node)) pair(node, old.find((each) => spare.has(each) && each.nodeName === node.nodeName && !name(each)));
  }
  for (const node of spare) node.remove();
  let at = old.find((each) => !spare.has(each)) ?? after;
  for (const node of wanted) {
    const found = pairs.get(node) ?? node;
    if (found === at) at = at.nextSibling;
    else element.insertBefore(found, at);
    if (found !== node) update(found, node);
  }
}

function update(node, fresh) {
  if (node.isEqualNode(fresh)) return;
  if (node.nodeType !== Node.ELEMENT_NODE) {
    node.nodeValue = fresh.nodeValue;
    return;
  }
  const keeps = (attribute) => attribute === "open" && toggled.has(node);
  for (const { name: attribute } of [...node.attributes]) {
    if (!fresh.hasAttribute(attribute) && !keeps(attribute)) node.removeAttribute(attribute);
  }
  for (const { name: attribute, value } of fresh.attributes) {
    if (node.getAttribute(attribute) !== value && !keeps(attribute)) node.setAttribute(attribute, value);
  }
  fit(node, fresh);
}
