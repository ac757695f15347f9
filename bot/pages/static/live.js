// Follows server-sent events while the page is seen.

// Hands each message of the stream at `address()` to `message`, and says when it is `opened`, `broken`, or taken up `again` after the
// page was hidden. A browser has six connections to a host for all of its tabs, so a hidden one keeps none.
export function follow(address, { message, opened, broken, again }) {
  let stream = null;

  function end() {
    stream?.close();
    stream = null;
  }

  function listen() {
    if (document.hidden) return;
    stream = new EventSource(address());
    stream.onmessage = (event) => message(event.data);
    stream.onopen = opened ?? null;
    stream.onerror = broken ?? null;
  }

  function look() {
    if (document.hidden) return end();
    if (stream) return;
    listen();
    again?.();
  }

  document.addEventListener("visibilitychange", look);
  addEventListener("pageshow", look); // browsers may keep a page while another one is shown in its tab
  addEventListener("pagehide", end);
  listen();
}
