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
    if (response.redirected) location.reload(); // the login has ended
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

// A page that was hidden has missed changes.
if (parts().length) follow(() => document.body.dataset.changes, { message: refresh, again: refresh });
