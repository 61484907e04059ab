import { createContext, use, useCallback, useLayoutEffect, useMemo, useState, type ReactNode } from "react";
import { readStored, writeStored } from "~/lib/storage";
import { en } from "./en";
import type { Words } from "./words";
import { zh } from "./zh";

export type Language = "en" | "zh";
export type LanguageChoice = Language | "system";
const KEY = "deskmate.language";
const TAGS: Record<Language, string> = { en: "en", zh: "zh-CN" };
const WORDS: Record<Language, Words> = { en, zh };

interface LanguageState {
  readonly language: Language;
  /** BCP 47 tag for dates and numbers. */
  readonly tag: string;
  readonly words: Words;
  /** What the user chose; "system" follows the browser. */
  readonly choice: LanguageChoice;
  readonly choose: (language: LanguageChoice) => void;
}

const LanguageContext = createContext<LanguageState | null>(null);

export function preferredLanguage(wanted: readonly string[], stored: string | null): Language {
  if (stored === "en" || stored === "zh") return stored;
  for (const tag of wanted) {
    if (tag.toLowerCase().startsWith("zh")) return "zh";
    if (tag.toLowerCase().startsWith("en")) return "en";
  }
  return "en";
}

function stored(): LanguageChoice {
  const value = readStored(KEY);
  return value === "en" || value === "zh" ? value : "system";
}

/** The browser's language until the user chooses; the choice stays in this browser. */
export function LanguageProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const [choice, setChoice] = useState(stored);
  const language = preferredLanguage(navigator.languages, choice);

  useLayoutEffect(() => {
    document.documentElement.lang = TAGS[language];
  }, [language]);

  const choose = useCallback((next: LanguageChoice) => {
    writeStored(KEY, next === "system" ? null : next);
    setChoice(next);
  }, []);
  const state = useMemo(
    () => ({ language, tag: TAGS[language], words: WORDS[language], choice, choose }),
    [language, choice, choose],
  );
  return <LanguageContext value={state}>{children}</LanguageContext>;
}

export function useLanguage(): LanguageState {
  const state = use(LanguageContext);
  if (state === null) throw new Error("useLanguage needs a LanguageProvider");
  return state;
}

/** The sentences in the user's language: `const t = useWords(); t.common.save`. */
export function useWords(): Words {
  return useLanguage().words;
}
