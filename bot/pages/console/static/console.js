// Loads the parts of a page anew that change, when the server says that something has changed.
import { follow } from "../pages/live.js";
import { Newest } from "../pages/newest.js";
import { replace } from "../pages/parts.js";
import { localizeAges } from "../pages/times.js";

const PAUSE = 1000; // ms between two loads
const parts = () => document.querySelectorAll("[data-live]");
const log = document.getElementById("conversation");
const phone = log && new Newest(log, document.getElementById("newest"));
let loading = false;
let again = false;

async function refresh() {
  if (loading) {
    again = true;
    return;
  }
  loading = true;
  try {
    const response = await fetch(location.href, { headers: { "X-Refresh": "1" } });
    if (response.redirected) return location.reload(); // the login has ended
    if (response.ok) show(new DOMParser().parseFromString(await response.text(), "text/html"));
  } catch {
    // the server is not there: the stream says when it is again
  }
  setTimeout(() => {
    loading = false;
    if (again) refresh();
    again = false;
  }, PAUSE);
}

function show(fresh) {
  document.title = fresh.title;
  ahead = clockOf(fresh) - performance.now();
  for (const part of parts()) {
    const html = fresh.getElementById(part.id)?.innerHTML;
    if (html === undefined || html === part.dataset.shown) continue;
    part.dataset.shown = html;
    const change = () => replace(part, html, writeAges);
    part === log ? phone.change(change) : change();
  }
}

const clockOf = (page) => Date.parse(page.body.dataset.now); // the bot's, when it made the page
let ahead = clockOf(document) - performance.now();
const writeAges = (node) => localizeAges(node, ahead + performance.now());
writeAges(document);
setInterval(() => writeAges(document), 1000);

document.querySelector("header nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }); // it may be one long line

// At a keyboard Enter sends, and Shift+Enter begins a line.
document.addEventListener("keydown", (event) => {
  const sends = event.key === "Enter" && !event.shiftKey && !event.isComposing && event.target.id === "answer";
  if (!sends || !matchMedia("(pointer: fine)").matches) return;
  event.preventDefault();
  event.target.form.requestSubmit();
});

// A ready reply is put where the cursor is, to be read before it is sent.
document.addEventListener("click", (event) => {
  const reply = event.target.closest("[data-reply]");
  const answer = document.getElementById("answer");
  if (!reply || !answer) return;
  answer.setRangeText(reply.dataset.reply, answer.selectionStart, answer.selectionEnd, "end");
  reply.closest("details").open = false;
  answer.focus();
});

// After an answer the next one can be written at once. A person who has begun to write elsewhere while the page loads goes on there.
const ANSWERED = "answered";
document.addEventListener("submit", (event) => {
  if (event.target.matches(".answer")) sessionStorage.setItem(ANSWERED, location.pathname);
});
const writes = document.activeElement !== document.body;
if (!writes && sessionStorage.getItem(ANSWERED) === location.pathname) document.getElementById("answer")?.focus({ preventScroll: true });
sessionStorage.removeItem(ANSWERED);

// A page that was hidden has missed changes. The count of the inbox alone is not worth a connection.
if (document.querySelector("main [data-live]")) follow(() => document.body.dataset.changes, { message: refresh, again: refresh });
