import type { ReactNode } from "react";

/** Where the command palette lives: mounted once in the shell, on every page that needs an account. */
export function PaletteHost(): ReactNode {
  return null;
}
