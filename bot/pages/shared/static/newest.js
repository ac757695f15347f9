// Keeps the newest message of a log in sight until a person scrolls up to read, and then offers a way back.

const NEAR = 40; // px from the end that still count as the end

export class Newest {
  // `log` scrolls its messages; the `button` behind it leads back to the newest.
  constructor(log, button) {
    Object.assign(this, { log, button, follows: true });
    this.label("Newest");
    // Panels, pictures and lists change how much room there is, or is needed, without a scroll.
    const sizes = new ResizeObserver(() => (this.follows ? this.scroll() : this.look()));
    const watch = (nodes, how) => [...nodes].filter((node) => node instanceof Element).forEach((node) => sizes[how](node));
    watch([log, ...log.children], "observe");
    new MutationObserver((changes) => {
      for (const { addedNodes, removedNodes } of changes) {
        watch(removedNodes, "unobserve");
        watch(addedNodes, "observe");
      }
    }).observe(log, { childList: true });
    log.addEventListener("scroll", () => this.look());
    log.addEventListener("toggle", (event) => this.unfold(event.target), true);
    button.addEventListener("click", () => {
      this.show();
      log.focus({ preventScroll: true }); // the button goes
    });
    this.show();
  }

  // Shows the newest message, and follows from here on.
  show() {
    this.follows = true;
    this.scroll();
    this.look();
  }

  // Changes the log by `update`. What is in sight stays: the newest message, or the one that is being read.
  change(update) {
    this.look(); // the event of a scroll comes with the next frame
    const top = (message) => message.getBoundingClientRect().top;
    const newest = this.log.lastElementChild;
    const read = [...this.log.children].find((message) => message.id && top(message) >= top(this.log));
    const before = read && top(read);
    update();
    if (this.follows) return this.scroll();
    if (read?.isConnected) this.log.scrollTop += top(read) - before;
    if (this.log.lastElementChild !== newest) this.label("New messages");
  }

  scroll() {
    this.log.scrollTop = this.log.scrollHeight;
    this.note();
  }

  note() {
    this.top = this.log.scrollTop;
    this.height = this.log.clientHeight;
  }

  get atEnd() {
    return this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < NEAR;
  }

  // Where the log is now. Only a scroll up ends the following: a picture that has just come may also have put the end out of sight.
  look() {
    if (!this.log.clientHeight) return; // another pane is shown
    const up = this.log.scrollTop < this.top && this.log.clientHeight === this.height; // a log that grows is moved by the browser
    this.note();
    this.follows = this.atEnd || (this.follows && !up);
    if (this.follows) this.label("Newest");
    this.button.hidden = this.follows;
  }

  label(words) {
    this.button.textContent = `↓ ${words}`;
  }

  // Shows what has been opened: all of it, or its beginning.
  unfold(opened) {
    if (!opened.open) return;
    opened.scrollIntoView({ block: opened.offsetHeight > this.log.clientHeight ? "start" : "nearest" });
    this.follows = this.atEnd;
    this.look();
  }
}
