import type { IconName } from "~/ui/Icon";

const BROWSERS = [
  ["Edge", /Edg(?:e|A|iOS)?\//],
  ["Opera", /OPR\//],
  ["Firefox", /Firefox\/|FxiOS\//],
  ["Chrome", /Chrome\/|CriOS\//],
  ["Safari", /Safari\//],
] as const;
const SYSTEMS = [
  ["iPhone", /iPhone/],
  ["iPad", /iPad/],
  ["Android", /Android/],
  ["Windows", /Windows/],
  ["ChromeOS", /CrOS/],
  ["macOS", /Mac OS X|Macintosh/],
  ["Linux", /Linux/],
] as const;

export interface Agent {
  /** Empty where the text names none that we know. */
  readonly browser: string;
  readonly system: string;
  readonly icon: IconName;
}

/** Enough of a user agent to recognise one's own device by. */
export function readAgent(text: string): Agent {
  const browser = BROWSERS.find(([, sign]) => sign.test(text))?.[0] ?? "";
  const system = SYSTEMS.find(([, sign]) => sign.test(text))?.[0] ?? "";
  return { browser, system, icon: /iPhone|Android/.test(system) ? "phone" : "laptop" };
}
