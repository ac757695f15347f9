// Loads the parts of a page anew that change, when the server says that something has changed.
import { follow } from "../pages/live.js";
import { replace } from "../pages/parts.js";

const PAUSE = 1000; // ms between two loads
const parts = () => document.querySelectorAll("[data-live]");
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
  for (const part of parts()) {
    const html = fresh.getElementById(part.id)?.innerHTML;
    if (html === undefined || html === part.dataset.shown) continue;
    const follows = part.scrollHeight - part.scrollTop - part.clientHeight < 120;
    part.dataset.shown = html;
    replace(part, html);
    if (part.id === "conversation" && follows) part.scrollTop = part.scrollHeight;
  }
}

const conversation = document.getElementById("conversation");
if (conversation) conversation.scrollTop = conversation.scrollHeight;
// Times are shown anew each minute: a page that was hidden has missed that, too.
if (parts().length) follow(() => document.body.dataset.changes, { message: refresh, again: refresh });
