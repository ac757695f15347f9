// Finds the sections of these pages that have all words of a query, the ones that are about them first.
// `SECTIONS` is made by conf.py: [page's title, heading, address, prose, code] of each.

const MOST = 40;
const AROUND = 90; // characters of a text that are shown on each side of the first word that was found

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
// "reminders" finds "reminder" and "reminded": a word is found by its beginning
const stem = (word) => (word.length > 5 ? word.replace(/(ies|ing|ed|es|s|e|y)$/i, "") : word.replace(/s$/i, ""));
const pattern = (word) => new RegExp(`(?<![\\p{L}\\p{N}])${escaped(stem(word))}[\\p{L}\\p{N}]*`, "giu");

const count = (found, text) => (text.match(found) ?? []).length;

function score([title, heading, address, prose, code], found) {
  let sum = 0;
  for (const each of found) {
    const [named, headed, said] = [count(each, title), count(each, heading), count(each, prose) + count(each, code) / 3];
    if (named + headed + said === 0) return 0;
    // a heading of few words is about each of them; a word that a long text says once is not its subject
    sum += 12 * headed / (1 + heading.split(/\s+/).length) + 5 * Math.min(named, 1) + 4 * said / (said + 2 + prose.length / 800);
  }
  return address.startsWith("checks/") ? sum / 2 : sum; // about mistakes: behind the pages about what is right
}

function marked(text, found) {
  const parts = document.createElement("span");
  const all = new RegExp(found.map((each) => each.source).join("|"), "giu");
  let end = 0;
  for (const match of text.matchAll(all)) {
    parts.append(text.slice(end, match.index), Object.assign(document.createElement("mark"), { textContent: match[0] }));
    end = match.index + match[0].length;
  }
  parts.append(text.slice(end));
  return parts;
}

function excerpt([, , , prose, code], found) {
  const text = found.some((each) => count(each, prose)) || code === "" ? prose : code;
  const places = found.map((each) => text.search(each)).filter((at) => at >= 0);
  const first = places.length === 0 ? 0 : Math.min(...places);
  const from = first < AROUND ? 0 : text.indexOf(" ", first - AROUND) + 1;
  const to = Math.min(text.length, first + 2 * AROUND);
  return (from > 0 ? "… " : "") + text.slice(from, to) + (to < text.length ? " …" : "");
}

function show() {
  const query = new URLSearchParams(location.search).get("q")?.trim() ?? "";
  const found = query.split(/\s+/).filter(Boolean).map(pattern);
  const place = document.getElementById("search-results");
  for (const field of document.querySelectorAll("input[name=q]")) field.value = query;
  const hits = found.length === 0 ? [] : SECTIONS.map((section) => [score(section, found), section])
    .filter(([points]) => points > 0).sort(([one], [other]) => other - one);
  const title = document.createElement("h1");
  title.textContent = query === "" ? "Search" : hits.length === 0 ? `Nothing has “${query}”` : `“${query}”`;
  const list = document.createElement("ul");
  list.className = "search";
  for (const [, section] of hits.slice(0, MOST)) {
    const [page, heading, address] = section;
    const link = Object.assign(document.createElement("a"), { href: address });
    link.append(marked(heading, found));
    const item = document.createElement("li");
    item.append(link);
    if (heading !== page) item.append(Object.assign(document.createElement("small"), { textContent: ` in ${page}` }));
    item.append(Object.assign(document.createElement("p"), { className: "context" }));
    item.lastChild.append(marked(excerpt(section, found), found));
    list.append(item);
  }
  place.append(title, list);
}

addEventListener("DOMContentLoaded", show);
