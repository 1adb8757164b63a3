// Moments (epoch ms) as a zone's clock shows them, and back. Plotly knows no zones: it is given the clock's words.
const STEP_MS = 900_000;
const FARTHEST_MS = 8.64e15 - 86_400_000;
const CLOCK = /^(-?\d{4,6})-(\d\d)-(\d\d)(?:[ T](\d\d)(?::(\d\d)(?::(\d\d(?:\.\d+)?))?)?)?/;
const known = new Map();

function clockOf(zone) {
  if (!known.has(zone)) {
    const parts = { year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric", era: "short" };
    known.set(zone, { format: new Intl.DateTimeFormat("en", { ...parts, hourCycle: "h23", timeZone: zone }), offsets: new Map() });
  }
  return known.get(zone);
}

/** By how many ms the zone's clock is ahead of UTC then; a zone changes it at a quarter of an hour, so it is kept for each. */
function offset(at, zone) {
  if (zone === "UTC") return 0;
  const { format, offsets } = clockOf(zone);
  const step = Math.floor(at / STEP_MS);
  if (!offsets.has(step)) {
    const begin = step * STEP_MS;
    const part = Object.fromEntries(format.formatToParts(begin).map(({ type, value }) => [type, value]));
    const year = part.era === "BC" ? 1 - part.year : +part.year;
    offsets.set(step, new Date(0).setUTCFullYear(year, part.month - 1, part.day) + ((part.hour * 60 + +part.minute) * 60 + +part.second) * 1000 - begin);
  }
  return offsets.get(step);
}

/** `2027-01-15 09:00:00.000` of the zone's clock; null where no calendar has that moment. */
export function wall(at, zone) {
  if (!Number.isFinite(at) || Math.abs(at) > FARTHEST_MS) return null;
  return new Date(at + offset(at, zone)).toISOString().replace("T", " ").replace("Z", "");
}

/** The moment at which the zone's clock shows `words`, as Plotly gives the ends of a range; a number is a moment already. */
export function moment(words, zone) {
  if (typeof words === "number") return words;
  const [, year, month, day, hour = 0, minute = 0, second = 0] = CLOCK.exec(words);
  const shown = new Date(0).setUTCFullYear(+year, month - 1, day) + ((hour * 60 + +minute) * 60 + +second) * 1000;
  return shown - offset(shown - offset(shown, zone), zone);
}
