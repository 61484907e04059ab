import type { AuditEntry } from "~/api/audit";
import { capabilityText } from "~/i18n/capabilities";
import type { Language } from "~/i18n/language";
import type { Words } from "~/i18n/words";

/** What one entry says, for a person. Actions that there is no sentence for show their own name. */
export function sentence(words: Words, language: Language, entry: AuditEntry): string {
  const { audit } = words;
  if (entry.action === "tool.call" || entry.action === "command.call") {
    const title = capabilityText(language, entry.target, { title: entry.target, description: "" }).title;
    return entry.initiator === "model" ? audit.byModel(title) : audit.byYou(title);
  }
  const known = audit.actions[entry.action];
  return known ?? (entry.target === "" ? entry.action : `${entry.action} · ${entry.target}`);
}

export type OutcomeLook = "good" | "bad" | "plain";

export function outcomeLook(outcome: string): OutcomeLook {
  if (outcome === "succeeded") return "good";
  return outcome === "failed" || outcome === "denied" ? "bad" : "plain";
}

/** Groups in the order they come in, by the day in the reader's own time zone. */
export function byDay(
  entries: readonly AuditEntry[],
): readonly { readonly key: string; readonly entries: readonly AuditEntry[] }[] {
  const groups: { key: string; entries: AuditEntry[] }[] = [];
  for (const entry of entries) {
    const key = new Date(entry.at).toDateString();
    const last = groups.at(-1);
    if (last?.key === key) last.entries.push(entry);
    else groups.push({ key, entries: [entry] });
  }
  return groups;
}
