import { lazy, Suspense, useEffect, useState, type ReactNode } from "react";
import { onOpenPalette } from "~/lib/openPalette";

// Most visits never open it.
const Palette = lazy(() => import("./Palette").then((module) => ({ default: module.Palette })));

/** Where the command palette lives: mounted once in the shell, on every page that needs an account. */
export function PaletteHost(): ReactNode {
  const [open, setOpen] = useState(false);

  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isChord = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
      if (!isChord || event.key.toLowerCase() !== "k" || event.isComposing) return;
      event.preventDefault();
      // Over another dialog it would cover what that one asks.
      if (document.querySelector("dialog[open]:not([data-palette])") === null) setOpen((is) => !is);
    };
    addEventListener("keydown", onKey);
    const stop = onOpenPalette(() => setOpen(true));
    return () => {
      removeEventListener("keydown", onKey);
      stop();
    };
  }, []);

  return open ? (
    <Suspense fallback={null}>
      <Palette onClose={() => setOpen(false)} />
    </Suspense>
  ) : null;
}
