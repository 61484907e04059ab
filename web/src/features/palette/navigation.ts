import type { Words } from "~/i18n/words";
import type { IconName } from "~/ui/Icon";

/** Pages that the palette leads to, found by their names in both languages. */
export interface Destination {
  readonly id: string;
  readonly icon: IconName;
  readonly title: (words: Words) => string;
  readonly to: string;
}

export const DESTINATIONS: readonly Destination[] = [
  { id: "go:new", icon: "add", title: (t) => t.palette.newChat, to: "/" },
  { id: "go:mistakes", icon: "book", title: (t) => t.common.mistakes, to: "/mistakes" },
  { id: "go:audit", icon: "log", title: (t) => t.common.audit, to: "/audit" },
  { id: "go:settings", icon: "settings", title: (t) => t.common.settings, to: "/settings" },
  { id: "go:packages", icon: "package", title: (t) => t.settings.packages, to: "/settings/packages" },
  { id: "go:tokens", icon: "key", title: (t) => t.settings.tokens, to: "/settings/tokens" },
  { id: "go:devices", icon: "laptop", title: (t) => t.settings.devices, to: "/settings/devices" },
  { id: "go:appearance", icon: "contrast", title: (t) => t.settings.appearance, to: "/settings/appearance" },
];
