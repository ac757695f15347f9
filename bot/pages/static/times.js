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
