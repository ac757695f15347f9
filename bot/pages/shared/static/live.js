// Follows server-sent events while the page is seen.

// Windows that are told of changes at once. A browser has six connections to a host for all of its windows and tabs, and needs some to
// load pages: so a hidden page keeps none, and of more that are seen the one that was looked at the longest ago gives its own back.
const MOST = 4;
const PAUSE = 3000; // ms after which a stream that was refused is asked for again: browsers do that only when nobody answers

// Hands each message of the stream at `address()` to `message`, and says when it is `opened`, `broken`, or taken up `again` after the
// page was hidden or gave its connection back.
export function follow(address, { message, opened, broken, again }) {
  const windows = new BroadcastChannel("windows");
  const id = Math.random();
  const newer = new Set();
  const note = document.createElement("p");
  note.className = "asleep";
  note.setAttribute("role", "status");
  let stream = null;

  function end() {
    if (stream) windows.postMessage({ id, listens: false });
    stream?.close();
    stream = null;
  }

  function listen() {
    if (document.hidden) return;
    stream = new EventSource(address());
    stream.onmessage = (event) => message(event.data);
    stream.onopen = opened ?? null;
    stream.onerror = () => {
      broken?.();
      if (stream?.readyState !== EventSource.CLOSED) return;
      end();
      setTimeout(look, PAUSE);
    };
    newer.clear();
    note.remove();
    windows.postMessage({ id, listens: true });
  }

  function look() {
    if (document.hidden) return end();
    if (stream) return;
    listen();
    again?.();
  }

  windows.onmessage = ({ data }) => {
    if (data.listens) newer.add(data.id);
    else newer.delete(data.id);
    if (!stream || newer.size < MOST) return;
    end();
    note.textContent = "So many windows of this page are open that this one shows no changes. Click into it to go on.";
    document.body.prepend(note);
  };
  document.addEventListener("visibilitychange", look);
  addEventListener("focus", look);
  addEventListener("pageshow", look); // browsers may keep a page while another one is shown in its tab
  addEventListener("pagehide", end);
  listen();
}
