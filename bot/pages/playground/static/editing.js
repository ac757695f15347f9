// The form in which a person edits the bot's texts: opened by a click on a text in the phone, or on a step of the map.

const PAUSE = 300; // milliseconds without a key, after which what is written is tried out
const { contact } = document.body.dataset;
const dialog = Object.assign(document.createElement("dialog"), { id: "editing" });
dialog.setAttribute("aria-labelledby", "editing-title");
document.body.append(dialog);

let written = {}; // what the files say, by the fields' ids
let shown = {}; // what the fields showed at first: browsers change some characters
let address = ""; // of the form, for later
let wanted = 0; // the number of the form that is wanted: answers about earlier forms open nothing
let tries = 0; // answers to earlier tries are not shown
let timer = 0;
let saved = null; // the number of the last save
let warned = false;
let saving = false;

const all = (selector) => [...dialog.querySelectorAll(selector)];
const one = (selector) => dialog.querySelector(selector);
const fields = () => all("[data-field]");
const field = (id) => fields().find((each) => each.dataset.field === id);
const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? "" : "."}`;
const SILENT = { error: "the bot does not answer: is `bot dev` still running?" };
const SAVED = "Saved. The bot says it from its next message on; ↶ on the phone goes back.";

// -- opening

// Opens the form of a query, unless another one is wanted by the time it comes.
async function open(query, number = (wanted += 1)) {
  let form, error;
  try {
    const response = await fetch(`/texts?contact=${encodeURIComponent(contact)}&${query}`);
    if (response.ok) form = await response.text();
    else ({ error } = await response.json());
  } catch {
    ({ error } = SILENT);
  }
  if (number !== wanted) return false;
  if (error) {
    tell(sentence(error));
    return false;
  }
  dialog.innerHTML = form;
  const { flow, step } = one("form").dataset;
  address = `flow=${encodeURIComponent(flow)}&step=${encodeURIComponent(step)}`; // after an edit a message may say something else
  written = JSON.parse(one("form").dataset.written);
  shown = Object.fromEntries(fields().map((each) => [each.dataset.field, each.value]));
  [saved, warned, saving] = [null, false, false];
  tries += 1;
  if (!dialog.open) dialog.showModal();
  const first = one("[data-said]") ?? fields()[0];
  first?.focus();
  first?.scrollIntoView({ block: "nearest" });
  return true;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-edit]");
  if (button && !dialog.contains(button)) return open(button.dataset.edit);
  if (button && leaves()) return open(button.dataset.edit);
  const text = event.target.closest(".bubble.bot :is(.text, .head, .foot)");
  if (!text || event.target.closest("a") || !getSelection().isCollapsed) return undefined;
  return text.closest(".bubble").querySelector("[data-edit]")?.click();
});

// -- what is written

const edits = () =>
  fields()
    .filter((each) => each.value !== shown[each.dataset.field])
    .map((each) => ({ id: each.dataset.field, was: written[each.dataset.field], text: each.value }));

// True if the form may go: nothing is written, it is being saved, or the person was told that it is not saved.
function leaves() {
  if (!edits().length || warned || saving) return true;
  warned = true;
  tell("Not saved yet. Press once more to drop what you have written.");
  return false;
}

// Says what is wrong, or what was done, in the dialog that is open, else above the panes.
function tell(wrong, done = "") {
  const place = document.querySelector("dialog[open]") ?? document;
  for (const [name, says] of Object.entries({ wrong, done })) {
    const said = place.querySelector(`.${name}`);
    if (said) said.textContent = says;
  }
}

async function send(act) {
  const { flow, step } = one("form").dataset;
  try {
    const response = await fetch("/texts", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ flow, step, edits: edits(), ...act }),
    });
    return await response.json();
  } catch {
    return SILENT;
  }
}

dialog.addEventListener("input", () => {
  warned = false;
  clearTimeout(timer);
  timer = setTimeout(tryOut, PAUSE);
  const parts = new Set(edits().map(({ id }) => (id === "block" ? "block" : "texts")));
  for (const part of all("fieldset")) part.disabled = parts.size === 1 && !parts.has(part.dataset.part); // one of them at a time
  one(".main").disabled = !parts.size;
});

async function tryOut() {
  const number = (tries += 1);
  const answer = await send({ do: "try" });
  if (number === tries) show(answer);
}

// -- what comes of it

function show(answer) {
  for (const notes of all(".notes")) notes.replaceChildren();
  for (const each of fields()) each.classList.remove("bad");
  for (const [id, now] of Object.entries(answer.now ?? {})) conflict(id, now);
  tell(answer.error ? sentence(answer.error) : "");
  for (const { id, code, words, error } of answer.problems ?? []) {
    const found = field(id);
    const note = document.createElement("p");
    note.textContent = `${error ? "" : "⚠ "}${code}: ${words}`;
    note.classList.toggle("error", error);
    (found?.closest(".field").querySelector(".notes") ?? one(".elsewhere")).append(note);
    found?.classList.toggle("bad", error);
  }
  one(".changes").hidden = !answer.diff?.length;
  one(".changes pre").replaceChildren(...(answer.diff ?? []).map(line));
  const place = one("#completions:not([hidden])") ?? one("[data-field]:focus");
  place?.scrollIntoView({ block: "nearest" }); // the changes have taken some of its room
}

const TAGS = { file: "b", old: "del", new: "ins" };
const SIGNS = { old: "- ", new: "+ ", same: "  " };

// A line of the difference; where lines are left out it has nothing to say.
function line([kind, text]) {
  const shows = kind === "gap" ? "" : `${SIGNS[kind] ?? ""}${text}`;
  return Object.assign(document.createElement(TAGS[kind] ?? "span"), { className: kind, textContent: shows });
}

// Shows both texts where the file was changed meanwhile.
function conflict(id, now) {
  const found = field(id);
  if (!found) return;
  const both = document.createElement("div");
  both.className = "disk";
  both.innerHTML = '<p>On the disk by now:</p><pre></pre><button type="button">Take that</button> <button type="button">Keep mine</button>';
  both.querySelector("pre").textContent = now;
  const [take, keep] = both.querySelectorAll("button");
  for (const button of [take, keep]) {
    button.addEventListener("click", () => {
      written[id] = now;
      if (button === take) [found.value, shown[id]] = [now, now];
      else shown[id] = now;
      found.focus();
      both.remove();
      dialog.dispatchEvent(new Event("input"));
    });
  }
  found.closest(".field").querySelector(".notes").append(both);
}

// While something is saved, nothing else is written.
function freeze(on) {
  saving = on;
  one(".main").disabled = on;
  for (const each of fields()) each.readOnly = on;
}

dialog.addEventListener("submit", async (event) => {
  event.preventDefault();
  clearTimeout(timer);
  const number = wanted;
  tries += 1;
  freeze(true);
  tell("");
  for (const notes of all(".notes")) notes.replaceChildren();
  const answer = await send({ do: "save" });
  if (number !== wanted) return answer.saved ? tell("", SAVED) : tell(`Not saved. ${sentence(answer.error ?? "the bot would not run with it")}`);
  if (!answer.saved) {
    freeze(false);
    show(answer);
    if (answer.problems) tell("Nothing is saved: the bot would not run with this. Correct what is marked.");
    return;
  }
  if (!(await open(address, number))) {
    if (number === wanted) dialog.close(); // the step has another name by now
    return tell("", SAVED);
  }
  show(answer);
  saved = answer.number;
  one("[data-take-back]").hidden = false;
  tell("", answer.problems.length ? "Saved. The checks find something: correct it, or take it back." : SAVED);
});

dialog.addEventListener("click", async (event) => {
  if (event.target.closest("[data-cancel]") && leaves()) dialog.close();
  if (!event.target.closest("[data-take-back]")) return;
  const number = wanted;
  const answer = await send({ do: "take_back", number: saved });
  if (answer.error) return tell(sentence(answer.error));
  if (number === wanted) await open(address, number);
  tell("", "Taken back: the files are as they were.");
});

dialog.addEventListener("cancel", (event) => {
  if (!leaves()) event.preventDefault();
});

dialog.addEventListener("close", () => {
  wanted += 1;
  tries += 1;
  clearTimeout(timer);
});
