import type { Language } from "./language";
import { CAPABILITIES_ZH } from "./zh/capabilities";

/**
 * The server names its capabilities in English, once, for models and pages alike. For those that ship
 * with Deskmate there are words in other languages here; all others show the server's own.
 */
export interface CapabilityWords {
  readonly title: string;
  readonly description: string;
  /** Labels and hints of parameters and of members of the result, by name. */
  readonly fields?: Readonly<Record<string, string>>;
  readonly hints?: Readonly<Record<string, string>>;
}

interface Named {
  readonly title: string;
  readonly description: string;
}

export function capabilityText(language: Language, id: string, served: Named): Named {
  return (language === "zh" ? CAPABILITIES_ZH.entries[id] : undefined) ?? served;
}

export function packageText(language: Language, id: string, served: Named): Named {
  return (language === "zh" ? CAPABILITIES_ZH.packages[id] : undefined) ?? served;
}

/** "correct_answer" → "Correct answer", unless there is a better word. */
export function fieldLabel(language: Language, id: string, name: string, title: string | undefined): string {
  if (language === "zh") {
    const word = CAPABILITIES_ZH.entries[id]?.fields?.[name] ?? CAPABILITIES_ZH.fields[name];
    if (word !== undefined) return word;
  }
  const plain = name.replaceAll("_", " ").trim();
  // A title that only repeats the name, as models of the server make it: "Source File Id".
  const text =
    title === undefined || title.toLowerCase() === plain.toLowerCase() ? plain.toLowerCase() : title;
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function fieldHint(
  language: Language,
  id: string,
  name: string,
  served: string | undefined,
): string | undefined {
  if (language === "zh")
    return CAPABILITIES_ZH.entries[id]?.hints?.[name] ?? CAPABILITIES_ZH.hints[name] ?? served;
  return served;
}

/** Every name under which an entry can be looked for, whatever language the page speaks. */
export function searchNames(id: string, served: Named): readonly string[] {
  const zh = CAPABILITIES_ZH.entries[id];
  return [served.title, ...(zh === undefined ? [] : [zh.title]), id.replace("::", " ").replaceAll("_", " ")];
}
