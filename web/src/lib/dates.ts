const formats = new Map<string, Intl.DateTimeFormat>();

function format(tag: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = tag + JSON.stringify(options);
  let made = formats.get(key);
  if (made === undefined) formats.set(key, (made = new Intl.DateTimeFormat(tag, options)));
  return made;
}

/** "3 Dec 2026": the year only where it is not this one. */
export function day(tag: string, at: string | Date, now = new Date()): string {
  const date = new Date(at);
  const year = date.getFullYear() === now.getFullYear() ? {} : ({ year: "numeric" } as const);
  return format(tag, { month: "short", day: "numeric", ...year }).format(date);
}

export function dayAndTime(tag: string, at: string | Date): string {
  return format(tag, { dateStyle: "medium", timeStyle: "short" }).format(new Date(at));
}

export function time(tag: string, at: string | Date): string {
  return format(tag, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" }).format(
    new Date(at),
  );
}

const STEPS = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["week", 604_800],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;

/** "3 hours ago", "in 89 days"; "now" within a minute. */
export function ago(tag: string, at: string | Date, now = Date.now()): string {
  const seconds = (new Date(at).getTime() - now) / 1000;
  const words = new Intl.RelativeTimeFormat(tag, { numeric: "auto" });
  for (const [unit, length] of STEPS) {
    if (Math.abs(seconds) >= length) return words.format(Math.trunc(seconds / length), unit);
  }
  return words.format(0, "second");
}
