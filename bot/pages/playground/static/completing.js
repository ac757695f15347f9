// The words that may stand at the cursor of a step's YAML: they come while one types, and with Ctrl+Space.
// Arrows choose one, Enter or Tab writes it, Escape closes the list.

const dialog = document.querySelector("#editing");
let asked = 0; // answers to earlier questions are not shown
let at = 0; // the cursor's place, for which the words are
let words = [];
let chosen = 0;

const list = () => dialog.querySelector("#completions");
const yaml = (event) => (event.target.matches?.("textarea.yaml") ? event.target : null);
const typed = (field) => /[\w/.-]*$/.exec(field.value.slice(0, field.selectionStart))[0];

function close() {
  asked += 1;
  words = [];
  list()?.replaceChildren();
  if (list()) list().hidden = true;
  dialog.querySelector("textarea.yaml")?.removeAttribute("aria-activedescendant");
}

async function ask(field) {
  const number = (asked += 1);
  at = field.selectionStart;
  const { flow, step } = dialog.querySelector("form").dataset;
  const body = JSON.stringify({ do: "complete", flow, step, text: field.value, at });
  const response = await fetch("/texts", { method: "POST", headers: { "Content-Type": "application/json" }, body }).catch(() => null);
  if (!response?.ok || number !== asked) return;
  words = (await response.json()).words;
  chosen = 0;
  if (number === asked) show(field);
}

function show(field) {
  if (!words.length) return close();
  list().replaceChildren(...words.map(option));
  list().hidden = false;
  list().scrollIntoView({ block: "nearest" });
  mark(field);
}

function option({ word, about }, number) {
  const item = document.createElement("li");
  item.id = `completion-${number}`;
  item.setAttribute("role", "option");
  item.append(Object.assign(document.createElement("b"), { textContent: word }));
  item.append(Object.assign(document.createElement("span"), { textContent: about }));
  return item;
}

function mark(field) {
  for (const [number, item] of [...list().children].entries()) item.setAttribute("aria-selected", number === chosen);
  list().children[chosen].scrollIntoView({ block: "nearest" });
  field.setAttribute("aria-activedescendant", `completion-${chosen}`);
}

function write(field) {
  const before = typed(field).length;
  let { insert } = words[chosen];
  if (field.value[field.selectionStart] === ":") insert = words[chosen].word; // its colon is there already
  field.setRangeText(insert, field.selectionStart - before, field.selectionStart, "end");
  close();
  field.dispatchEvent(new InputEvent("input", { bubbles: true, inputType: "insertReplacementText" }));
}

dialog.addEventListener("input", (event) => {
  const field = yaml(event);
  if (!field) return;
  if (event.inputType === "insertText" && typed(field)) ask(field);
  else close();
});

dialog.addEventListener(
  "keydown",
  (event) => {
    const field = yaml(event);
    if (!field) return;
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      ask(field);
      return;
    }
    if (!words.length) return;
    if (event.key === "Tab" && event.shiftKey) return close();
    const moves = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in moves) {
      chosen = (chosen + moves[event.key] + words.length) % words.length;
      mark(field);
    } else if (event.key === "Enter" || event.key === "Tab") write(field);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  },
  true,
);

document.addEventListener("selectionchange", () => {
  const field = document.activeElement;
  if (yaml({ target: field }) && field.selectionStart !== at) close();
});

dialog.addEventListener("click", (event) => {
  const item = event.target.closest("#completions li");
  if (!item) return close();
  chosen = [...list().children].indexOf(item);
  const field = dialog.querySelector("textarea.yaml");
  write(field);
  return field.focus();
});
