/** Any button may open the command palette; the shell listens. */
const NAME = "deskmate:palette";

export function openPalette(): void {
  dispatchEvent(new Event(NAME));
}

export function onOpenPalette(callback: () => void): () => void {
  addEventListener(NAME, callback);
  return () => removeEventListener(NAME, callback);
}

/** ⌘ on Apple's keyboards, Ctrl elsewhere. */
export const PALETTE_KEYS = /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘K" : "Ctrl K";
