// The page of the playground: shows what the server sends, and sends what a person does.
import { follow } from "../pages/live.js";
import { Newest } from "../pages/newest.js";
import { replace } from "../pages/parts.js";
import { localize } from "../pages/times.js";
import { FlowMap } from "./flow_map.js";

const { contact, zone } = document.body.dataset;
const base = `/contact/${encodeURIComponent(contact)}`;
const part = (id) => document.getElementById(id);
const map = new FlowMap(part("drawing"), part("step"), part("flow"), part("follow"), part("untried"));
const log = part("conversation");
const phone = new Newest(log, part("newest"));

// -- what there is to see

let came = {}; // what was sent last

function show(parts) {
  came = { ...came, ...parts };
  for (const [id, html] of Object.entries(parts)) {
    if (id === "state") {
      map.show(html);
      for (const box of document.querySelectorAll("[data-fault]")) box.checked = html.faults.includes(box.dataset.fault);
      const on = html.faults.length;
      for (const said of document.querySelectorAll(".faults-on")) said.textContent = on ? `${on} ${on === 1 ? "fault" : "faults"} on` : "";
    } else if (id === "conversation") {
      phone.change(() => replace(log, html, newest(log)));
    } else if (id === "turns") {
      replace(part(id), html, newest(part(id), true));
    } else {
      replace(part(id), html, write);
    }
  }
}

const write = (node) => localize(node, zone);

// The server sends the newest messages and turns. Where all are shown, the others stay as they are: so a change costs no more.
function newest(element, first = false) {
  return (fresh) => {
    write(fresh);
    const items = [...fresh.children].filter((each) => each.id);
    if (!new URLSearchParams(location.search).has("all") || !items.length) return undefined;
    const edge = first ? items.at(-1) : items[0];
    const known = document.getElementById(edge.id);
    if (!known) {
      showAll(); // more has come than the server sends
      fresh.replaceChildren();
      return [];
    }
    const beyond = first ? "nextSibling" : "previousSibling";
    while (edge[beyond]) edge[beyond].remove();
    const shown = [...element.childNodes];
    return first ? shown.slice(0, shown.indexOf(known) + 1) : shown.slice(shown.indexOf(known));
  };
}

async function showAll() {
  const html = await fetch(location.href).then((response) => response.text(), () => "");
  if (!html) return tell(SILENT);
  const page = new DOMParser().parseFromString(html, "text/html");
  phone.change(() => {
    for (const id of ["conversation", "turns"]) replace(part(id), page.getElementById(id).innerHTML, write);
  });
  show(came); // it may be newer
}

// Says something in the dialog that is open, else above the panes: that something was done (`good`), or what is wrong.
function tell(text, good = false) {
  const place = document.querySelector("dialog[open]") ?? document;
  const [done, wrong] = [place.querySelector(".done"), place.querySelector(".wrong")];
  for (const [said, says] of [[done, good ? text : ""], [wrong, good ? "" : text]]) {
    if (said && said.textContent !== says) said.textContent = says;
  }
}

const SILENT = "The bot does not answer: is `bot dev` still running?";

follow(() => `${base}/live`, {
  message: (data) => show(JSON.parse(data)),
  opened() {
    for (const said of document.querySelectorAll(".wrong")) if (said.textContent === SILENT) said.textContent = "";
  },
  broken: () => tell(SILENT),
});

// -- what a person does

async function act(what) {
  const answer = await send(`${base}/do`, JSON.stringify(what), "application/json", OF_CONTACT.includes(what.do));
  if (answer?.test) keep(answer.test);
  if (answer?.replayed) {
    sessionStorage.setItem("said", answer.difference ? `Replayed. ${sentence(answer.difference)}` : "Replayed: the bot said the same.");
  }
  if (answer?.contact) location.href = `/contact/${answer.contact}`;
  return answer !== null;
}

// What the contact does goes out in order, one after the other; the clock and programs need not wait for it.
let last = Promise.resolve();
const OF_CONTACT = ["write", "choose", "speak", "place"];

function send(address, body, type, ordered = true) {
  if (!ordered) return sendNow(address, body, type);
  phone.show();
  last = last.then(() => sendNow(address, body, type));
  return last;
}

async function sendNow(address, body, type) {
  try {
    const response = await fetch(address, { method: "POST", headers: { "Content-Type": type }, body });
    const answer = await response.json();
    tell(answer.error ? sentence(answer.error) : "");
    return answer.error ? null : answer;
  } catch {
    tell(SILENT);
    return null;
  }
}

// Shows a conversation as a test, to be saved.
function keep(test) {
  const dialog = part("kept");
  dialog.querySelector("textarea").value = test;
  const link = dialog.querySelector("a");
  URL.revokeObjectURL(link.href);
  link.href = URL.createObjectURL(new Blob([test], { type: "text/yaml" }));
  tell("");
  dialog.querySelector("textarea").setSelectionRange(0, 0);
  dialog.showModal();
}

// Shows a form that sets a variable.
async function change(flow, name) {
  const response = await fetch(`${base}/variable?${new URLSearchParams({ flow, name })}`).catch(() => null);
  if (!response) return tell(SILENT);
  if (!response.ok) return tell(sentence((await response.json()).error));
  const dialog = part("variable");
  dialog.innerHTML = await response.text();
  dialog.showModal();
}

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.method === "dialog") return;
  event.preventDefault();
  if (form.classList.contains("file")) {
    const sent = new FormData(form);
    const done = await sendFile(sent.get("file").name, sent.get("file"), sent.get("caption"));
    if (done && form.elements.file.files[0] === sent.get("file")) form.reset();
  } else if (form.dataset.do) {
    const text = form.elements.text;
    const what = { do: form.dataset.do, ...Object.fromEntries(new FormData(form)) };
    if (text) text.value = ""; // at once, so that the next message can be written
    const done = await act(what);
    if (!done && text && !text.value) text.value = what.text;
    if (done) form.closest("dialog")?.close();
    const writes = !form.contains(document.activeElement) && document.activeElement !== document.body; // elsewhere
    if (done && what.do === "answer" && !writes) part("text").focus(); // the form goes
  }
});

function sendFile(name, content, caption) {
  return send(`${base}/file?${new URLSearchParams({ name, caption })}`, content, "application/octet-stream");
}

document.addEventListener("click", async (event) => {
  const target = event.target.closest("[data-choice], button[data-do], [data-all], [data-place], [data-sample], [data-before], [data-copy], [data-set], [data-insert], [data-say], dialog [data-close]");
  if (!target || target.closest("svg")) return;
  if (target.dataset.choice) {
    act({ do: "choose", bubble: Number(target.dataset.bubble), choice: Number(target.dataset.choice) });
    const list = target.closest("details");
    list?.removeAttribute("open");
    list?.querySelector("summary").focus();
  } else if (target.dataset.say) {
    act({ do: "write", text: target.dataset.say });
    part("text").focus(); // the button goes
  } else if (target.dataset.before) {
    act({ do: "replay", before: Number(target.dataset.before) });
  } else if (target.dataset.set) {
    change(target.dataset.flow, target.dataset.set);
  } else if (target.dataset.insert) {
    const answer = part("answer");
    answer.value = `${answer.value} ${target.dataset.insert}`.trimStart();
    answer.focus();
  } else if ("close" in target.dataset) {
    target.closest("dialog").close();
  } else if ("copy" in target.dataset) {
    navigator.clipboard.writeText(part("kept").querySelector("textarea").value).then(
      () => tell("Copied.", true),
      () => tell("The browser does not let this page copy: select the text instead."),
    );
  } else if (target.dataset.do) {
    act({ do: target.dataset.do });
  } else if ("sample" in target.dataset) {
    sendFile("photo.jpg", await photo(), "");
  } else if (target.dataset.place) {
    map.open(target.dataset.place);
  } else {
    const address = new URL(location.href);
    address.searchParams.set("all", "1");
    history.replaceState(null, "", address);
    showAll();
  }
});

// An opened list shows its rows.
log.addEventListener("toggle", ({ target }) => target.open && target.scrollIntoView({ block: "nearest" }), true);

document.addEventListener("change", (event) => {
  const fault = event.target.dataset?.fault;
  if (fault) act({ do: "switch", fault, on: event.target.checked });
});

part("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    event.target.form.requestSubmit();
  }
});
part("text").disabled = false; // from here on what is written is sent

// A picture that is drawn here.
async function photo() {
  const canvas = Object.assign(document.createElement("canvas"), { width: 320, height: 200 });
  const context = canvas.getContext("2d");
  const sky = context.createLinearGradient(0, 0, 0, 200);
  sky.addColorStop(0, "#7db9e8");
  sky.addColorStop(1, "#f7c59f");
  context.fillStyle = sky;
  context.fillRect(0, 0, 320, 200);
  context.fillStyle = "#2f6f4f";
  context.fillRect(0, 150, 320, 50);
  return new Promise((done) => canvas.toBlob(done, "image/jpeg"));
}

// What was done or is wrong goes with a click on it, or with Escape.
document.addEventListener("click", ({ target }) => target.matches("body > .done, body > .wrong") && tell(""));
document.addEventListener("keydown", ({ key }) => key === "Escape" && !document.querySelector("dialog[open]") && tell(""));

// -- the details on wide screens, which stay open from contact to contact

const unfold = part("unfold");
function fold(open) {
  unfold.setAttribute("aria-expanded", open);
  document.body.toggleAttribute("data-unfolded", open);
  sessionStorage.setItem("unfolded", open ? "yes" : "");
}
unfold.addEventListener("click", () => fold(unfold.getAttribute("aria-expanded") !== "true"));
fold(sessionStorage.getItem("unfolded") === "yes");

// -- panes on narrow screens

function pane() {
  const name = location.hash.slice(1) || "phone";
  document.body.dataset.pane = ["phone", "map", "details"].includes(name) ? name : "phone";
  for (const link of document.querySelectorAll(".panes a")) {
    link.toggleAttribute("aria-current", link.hash === `#${document.body.dataset.pane}`);
  }
}
addEventListener("hashchange", pane);
pane();

write(document);
new ResizeObserver(() => document.querySelector("#contacts [aria-current]").scrollIntoView({ block: "nearest", inline: "nearest" })).observe(part("contacts"));
show({ state: JSON.parse(document.body.dataset.state) });
tell(sessionStorage.getItem("said") ?? "", true);
sessionStorage.removeItem("said");
