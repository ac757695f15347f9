// The map: the drawing of a flow or of all, which can be moved and zoomed, with the contact's place and way in it.

import { replace } from "../pages/parts.js";

// How much larger or smaller than it was drawn a drawing is shown by itself, and at least where all of it is wanted.
const [LARGEST, SMALLEST, TINY] = [1.15, 0.75, 0.15];
const LEGEND = 52; // px of the legend above the boxes

// The text at an address; empty where there is none, or the bot does not answer.
const load = (address) => fetch(address).then((response) => (response.ok ? response.text() : ""), () => "");

// Makes the boxes of a drawing buttons.
function prepare(drawing) {
  const svg = drawing.querySelector("svg");
  svg.setAttribute("role", "group"); // not an image
  svg.removeAttribute("width");
  svg.removeAttribute("height");
  for (const box of svg.querySelectorAll("[data-place]")) {
    const group = box.parentNode;
    group.id = `place ${box.dataset.place}`; // by which it is known in the next drawing
    group.setAttribute("tabindex", "0");
    group.setAttribute("role", "button");
    group.setAttribute("aria-label", box.dataset.place);
    group.classList.add("place");
  }
}

export class FlowMap {
  constructor(drawing, step, flow, follow, untried) {
    Object.assign(this, { drawing, step, flow, follow, untried });
    this.state = { here: [], way: [], map: "", flows: [] };
    this.tried = new Set();
    this.place = ""; // the step that is shown below the drawing
    this.asked = this.answered = 0; // how often it was asked for what is known of it, and which answer is shown
    this.shown = null; // which drawing is wanted: the map's version and the flow
    this.flow.value = new URLSearchParams(location.search).get("flow") ?? "";
    if (this.flow.value) this.follow.checked = false;
    this.flow.addEventListener("change", () => this.choose(this.flow.value));
    this.follow.addEventListener("change", () => this.refresh());
    this.search = document.getElementById("find");
    this.search.addEventListener("input", () => this.find());
    for (const button of document.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", () => this.zoom(Number(button.dataset.zoom)));
    }
    document.querySelector("[data-fit]").addEventListener("click", () => this.svg && this.fit(true));
    new ResizeObserver(() => {
      if (!this.svg) return;
      if (!this.hidden) return this.stretch();
      this.fit();
      this.light();
    }).observe(drawing);
    drawing.addEventListener("click", (event) => this.click(event));
    drawing.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    drawing.addEventListener("pointerdown", (event) => this.drag(event));
    drawing.addEventListener("keydown", (event) => this.key(event));
    drawing.addEventListener("focusin", (event) => {
      if (event.target.matches(".place:focus-visible")) this.reveal(event.target.querySelector("[data-place]"));
    });
    step.addEventListener("click", (event) => {
      if (event.target.closest("[data-close]")) this.close();
    });
    step.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
    });
  }

  // The contact is at the steps `here`, and has come by `way`, of steps and outcomes; `map` changes with the flows.
  show(state) {
    this.state = state;
    this.tried = new Set(state.tried);
    this.fill();
    const names = [...this.flow.options].slice(1).map((option) => option.value);
    if (String(names) !== String(state.flows)) {
      const kept = this.flow.value;
      this.flow.replaceChildren(this.flow.options[0], ...state.flows.map((name) => new Option(name)));
      this.flow.value = state.flows.includes(kept) ? kept : "";
    }
    this.refresh();
  }

  async refresh() {
    const { here, way, flows } = this.state;
    const last = here.at(-1) ?? way.at(-1)?.[0] ?? (flows.length === 1 ? flows[0] : "");
    if (this.follow.checked && last) this.flow.value = last.split("/")[0];
    const wanted = `${this.state.map} ${this.flow.value}`;
    if (this.shown !== wanted) {
      this.shown = wanted;
      const text = await load(`/map?${new URLSearchParams({ flow: this.flow.value })}`);
      if (this.shown !== wanted) return;
      if (!text) {
        this.shown = null; // it is asked for again
        return;
      }
      const view = this.view;
      const other = this.drawn !== this.flow.value; // than the one that is seen, whichever was wanted meanwhile
      this.drawn = this.flow.value;
      if (other) this.drawing.replaceChildren();
      replace(this.drawing, text, prepare); // the box that has the focus keeps it
      this.svg = this.drawing.querySelector("svg");
      const { width, height } = this.svg.viewBox.baseVal;
      const top = this.shift[1] - LEGEND; // the page has a title of its own
      this.whole = { top, width, height: height - top };
      other || !view ? this.fit() : this.set(view);
    }
    this.mark();
    this.light();
  }

  light() {
    if (!this.svg) return;
    const flow = this.flow.value;
    const named = (place) => (flow ? place : place.split("/")[0]);
    const here = new Set(this.state.here.map(named));
    const came = new Set(this.state.way.map(([place]) => named(place)));
    let untried = 0;
    for (const box of this.svg.querySelectorAll("[data-place]")) {
      const place = box.dataset.place;
      const own = flow ? place.startsWith(`${flow}/`) : true;
      const tried = flow ? this.tried.has(place) : [...this.tried].some((each) => each.startsWith(`${place}/`));
      box.classList.toggle("here", here.has(place));
      box.classList.toggle("came", came.has(place));
      box.classList.toggle("untried", own && !tried);
      untried += own && !tried ? 1 : 0;
    }
    const gone = new Set(this.state.way.map(([place, outcome]) => `${place} ${outcome}`));
    this.state.way.forEach(([place], index, way) => index && gone.add(`${way[index - 1][0]} → ${place}`));
    for (const each of this.svg.querySelectorAll("[data-ways]")) {
      each.classList.toggle("gone", JSON.parse(each.dataset.ways).some((way) => gone.has(way)));
    }
    this.untried.textContent = untried ? `${untried} not tried yet` : "all tried";
    const last = this.follow.checked && flow ? this.state.here.at(-1) : "";
    if (last && this.followed !== last) this.reveal(this.svg.querySelector(".here"));
    this.followed = last;
  }

  choose(flow) {
    this.flow.value = flow;
    this.follow.checked = false;
    const address = new URL(location.href);
    flow ? address.searchParams.set("flow", flow) : address.searchParams.delete("flow");
    history.replaceState(null, "", address);
    return this.refresh();
  }

  // Shows a step: its flow's drawing, and what is known of it. A flow alone is shown as its drawing.
  async open(place) {
    const slash = place.indexOf("/");
    const flow = slash < 0 ? place : place.slice(0, slash);
    const focused = document.activeElement;
    if (!this.step.contains(focused)) this.opener = focused;
    if (slash >= 0) this.place = place;
    if (this.flow.value !== flow) await this.choose(flow);
    if (slash < 0) return;
    await this.fill();
    if (this.place !== place) return; // it was closed meanwhile, or another one was opened
    this.step.scrollTop = 0;
    if ([focused, document.body].includes(document.activeElement)) this.step.focus({ preventScroll: true }); // nobody writes by now
    this.reveal(this.box(place));
  }

  box(place) {
    return [...this.svg.querySelectorAll("[data-place]")].find((box) => box.dataset.place === place);
  }

  // What is known by now of the step that is shown. An edit may have removed it.
  async fill() {
    const place = this.place;
    if (!place) return;
    const slash = place.indexOf("/");
    const number = (this.asked += 1);
    const html = await load(`/step?${new URLSearchParams({ flow: place.slice(0, slash), step: place.slice(slash + 1) })}`);
    if (this.place !== place || number < this.answered) return; // a later answer has overtaken this one
    this.answered = number;
    if (html !== this.filled) replace(this.step, html);
    this.filled = html;
    this.step.hidden = !html;
  }

  close() {
    const opener = this.opener?.isConnected ? this.opener : this.box(this.place)?.parentNode;
    this.place = "";
    this.step.hidden = true;
    opener?.focus({ preventScroll: true });
  }

  find() {
    const first = this.mark();
    if (first) this.follow.checked = false;
    this.reveal(first);
  }

  // Marks what is searched for, also in a drawing that has just come; the first such box.
  mark() {
    if (!this.svg) return null;
    const wanted = this.search.value.trim().toLowerCase();
    let first = null;
    for (const box of this.svg.querySelectorAll("[data-place]")) {
      const hit = wanted !== "" && box.parentNode.textContent.toLowerCase().includes(wanted);
      box.classList.toggle("hit", hit);
      first ??= hit ? box : null;
    }
    this.search.setCustomValidity(wanted && !first ? "Nothing on this map has these words." : ""); // Enter says it
    return first;
  }

  // -- moving and zooming

  set(view) {
    this.view = view;
    this.svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
  }

  // How far the boxes of the drawing are from its edges.
  get shift() {
    return this.svg.querySelector("g[transform]").getAttribute("transform").match(/[\d.]+/g).map(Number);
  }

  // Shows the drawing from its beginning on, with letters that can be read, or `all` of it.
  fit(all = false) {
    const { width, height } = this.drawing.getBoundingClientRect();
    this.hidden = !width; // as on a narrow screen, where another pane is shown
    this.pixels = width;
    this.followed = "";
    const ratio = width ? height / width : 1;
    const wanted = all ? Math.max(this.whole.width, this.whole.height / ratio) : this.whole.width;
    const wide = Math.min(Math.max(wanted, width / LARGEST), width ? width / (all ? TINY : SMALLEST) : wanted);
    const first = this.svg.querySelector("g[transform] .start, [data-place]");
    const middle = first ? Number(first.getAttribute("x")) + this.shift[0] + Number(first.getAttribute("width")) / 2 : 0;
    this.set({ x: this.within(middle - wide / 2, wide), y: this.whole.top, width: wide, height: wide * ratio });
    if (all && wanted > wide) this.reveal(this.svg.querySelector(".here"));
  }

  // Where a view that is so wide may begin: it shows no more beside the drawing than it has to.
  within(x, wide) {
    const left = this.whole.width - wide;
    return left < 0 ? left / 2 : Math.min(Math.max(x, 0), left);
  }

  // Shows more or less where there is more or less room than before, of the same size.
  stretch() {
    const { width, height } = this.drawing.getBoundingClientRect();
    if (width && this.view) {
      const wide = (this.view.width * width) / this.pixels;
      this.set({ x: this.within(this.view.x + (this.view.width - wide) / 2, wide), y: this.view.y, width: wide, height: (wide * height) / width });
    }
    this.hidden = !width;
    this.pixels = width || this.pixels;
  }

  zoom(by, at = { x: 0.5, y: 0.5 }) {
    if (!this.svg) return;
    const { x, y, width, height } = this.view;
    const wide = Math.min(Math.max(width / by, 150), Math.max(this.whole.width * 4, width));
    const tall = (height * wide) / width;
    this.set({ x: x + (width - wide) * at.x, y: y + (height - tall) * at.y, width: wide, height: tall });
  }

  // Shows a box, also beside the step that is shown: where it is in sight, nothing moves.
  reveal(box) {
    if (!box || !this.view) return;
    const [left, top, wide, high] = ["x", "y", "width", "height"].map((name) => Number(box.getAttribute(name)));
    const [x, y] = [left + this.shift[0], top + this.shift[1]];
    const view = this.view;
    const room = this.room();
    if (x >= view.x && x + wide <= view.x + room.width && y >= view.y && y + high <= view.y + room.height) return;
    const middle = x + (wide - room.width) / 2;
    const fits = room.height >= this.whole.height;
    this.set({
      ...view,
      x: room.width < view.width ? middle : this.within(middle, view.width),
      y: fits ? this.whole.top : y + (high - room.height) / 2,
    });
  }

  // How much of the view nothing covers.
  room() {
    const { width, height } = this.view;
    if (this.step.hidden) return { width, height: height * 0.85 };
    const [step, all] = [this.step.getBoundingClientRect(), this.drawing.getBoundingClientRect()];
    const beside = step.left - all.left;
    return beside > all.width / 3 ? { width: (width * beside) / all.width, height } : { width, height: (height * (step.top - all.top)) / all.height };
  }

  wheel(event) {
    if (!this.view) return;
    event.preventDefault();
    const { left, top, width, height } = this.drawing.getBoundingClientRect();
    this.zoom(event.deltaY < 0 ? 1.15 : 0.87, { x: (event.clientX - left) / width, y: (event.clientY - top) / height });
  }

  drag(event) {
    if (!this.view || event.button !== 0) return;
    const from = { x: event.clientX, y: event.clientY, view: this.view };
    const scale = this.view.width / this.drawing.getBoundingClientRect().width;
    this.dragged = false;
    const move = (moved) => {
      const [x, y] = [moved.clientX - from.x, moved.clientY - from.y];
      this.dragged ||= Math.hypot(x, y) > 4;
      if (this.dragged) this.set({ ...from.view, x: from.view.x - x * scale, y: from.view.y - y * scale });
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", () => removeEventListener("pointermove", move), { once: true });
  }

  click(event) {
    const box = event.target.closest(".place")?.querySelector("[data-place]");
    if (event.target.closest("a")) event.preventDefault();
    if (this.dragged) return;
    const sign = event.target.closest("a")?.getAttribute("href");
    if (box) this.open(box.dataset.place);
    else if (sign) this.reveal(this.svg.querySelector(sign));
  }

  key(event) {
    if (!this.view) return;
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.key === "Enter" || event.key === " ") {
      const box = event.target.querySelector?.("[data-place]");
      if (event.target.classList.contains("place") && box) this.open(box.dataset.place);
    } else if (event.key in moves) {
      const [x, y] = moves[event.key];
      const by = this.view.width / 8;
      this.set({ ...this.view, x: this.view.x + x * by, y: this.view.y + y * by });
    } else if (event.key === "+" || event.key === "-") {
      this.zoom(event.key === "+" ? 1.25 : 0.8);
    } else {
      return;
    }
    event.preventDefault();
  }
}
