import { createContext, use } from "react";

/** On a narrow screen the sidebar is a drawer over the page; headers open it. */
export interface Drawer {
  readonly open: boolean;
  readonly setOpen: (open: boolean) => void;
}

export const DrawerContext = createContext<Drawer>({ open: false, setOpen: () => undefined });

export function useDrawer(): Drawer {
  return use(DrawerContext);
}
