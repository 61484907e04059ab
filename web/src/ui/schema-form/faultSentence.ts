import type { Words } from "~/i18n/words";
import type { Fault } from "./values";

export function faultSentence(words: Words, fault: Fault | undefined): string | undefined {
  if (fault === undefined) return undefined;
  if (fault.kind === "said") return fault.text;
  return "limit" in fault ? words.form[fault.kind](fault.limit) : words.form[fault.kind];
}
