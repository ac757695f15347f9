// Times as the reader's browser writes them, on the bot's clock: its language, and 12 or 24 hours.

const halves = new Intl.DateTimeFormat(undefined, { hour: "numeric" }).resolvedOptions().hour12;
const TIME = { hour: halves ? "numeric" : "2-digit", minute: "2-digit" };
const FORMS = {
  clock: TIME,
  date: { weekday: "long", day: "numeric", month: "long" },
  moment: { day: "numeric", month: "short", ...TIME },
  day: { weekday: "short", day: "numeric", month: "short", ...TIME },
};
const made = new Map();

function written(form, zone) {
  const key = `${form} ${zone}`;
  if (!made.has(key)) made.set(key, new Intl.DateTimeFormat(undefined, { ...FORMS[form], timeZone: zone }));
  return made.get(key);
}

// Writes all times anew that are below a node and say in which form they are shown. What the server has written stays where a browser
// does not know the zone.
export function localize(node, zone) {
  for (const time of node.querySelectorAll("time[data-form]")) {
    try {
      time.textContent = written(time.dataset.form, zone).format(new Date(time.dateTime));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }
}

const UNITS = { year: 31_536_000, month: 2_592_000, week: 604_800, day: 86_400, hour: 3600, minute: 60, second: 1 }; // seconds
const relative = new Intl.RelativeTimeFormat();
// A number that changes each second would draw the eye: other languages have no short word but "now".
const english = relative.resolvedOptions().locale.startsWith("en");
const JUST_NOW = english ? "seconds ago" : new Intl.RelativeTimeFormat(undefined, { numeric: "auto" }).format(0, "second");

// Writes how long ago the times below a node are, or in how long, which is another text each second. `now` is the bot's, in ms.
export function localizeAges(node, now) {
  for (const time of node.querySelectorAll("time[data-ago]")) {
    const seconds = (new Date(time.dateTime) - now) / 1000;
    const [unit, length] = Object.entries(UNITS).find(([, length]) => Math.abs(seconds) >= length) ?? ["second", 1];
    const count = Math.max(Math.round(Math.abs(seconds) / length), 1);
    const text = seconds <= 0 && seconds > -UNITS.minute ? JUST_NOW : relative.format(seconds > 0 ? count : -count, unit);
    if (time.textContent !== text) time.textContent = text;
  }
}
