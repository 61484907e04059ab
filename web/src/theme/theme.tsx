import { createContext, use, useCallback, useLayoutEffect, useMemo, useState, type ReactNode } from "react";
import { readStored, writeStored } from "~/lib/storage";

export type ThemeChoice = "system" | "light" | "dark";
const KEY = "deskmate.theme";

interface ThemeState {
  readonly choice: ThemeChoice;
  readonly choose: (choice: ThemeChoice) => void;
}

const ThemeContext = createContext<ThemeState | null>(null);

function stored(): ThemeChoice {
  const value = readStored(KEY);
  return value === "light" || value === "dark" ? value : "system";
}

/** Light and dark after the system until the user chooses; the choice stays in this browser. */
export function ThemeProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const [choice, setChoice] = useState(stored);

  useLayoutEffect(() => {
    const root = document.documentElement;
    if (choice === "system") delete root.dataset["theme"];
    else root.dataset["theme"] = choice;
  }, [choice]);

  const choose = useCallback((next: ThemeChoice) => {
    writeStored(KEY, next === "system" ? null : next);
    setChoice(next);
  }, []);
  const state = useMemo(() => ({ choice, choose }), [choice, choose]);
  return <ThemeContext value={state}>{children}</ThemeContext>;
}

export function useTheme(): ThemeState {
  const state = use(ThemeContext);
  if (state === null) throw new Error("useTheme needs a ThemeProvider");
  return state;
}
