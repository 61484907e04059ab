import type { IconName } from "./Icon";

/** Packages name icons freely; those that there is a drawing for are shown, the others as a spark. */
const KNOWN: Readonly<Record<string, IconName>> = {
  "notebook-pen": "edit",
  pencil: "edit",
  search: "search",
  archive: "archive",
  trash: "trash",
  bookmark: "bookmark",
  "message-square": "chat",
  download: "download",
  "file-down": "download",
  clock: "clock",
  calculator: "tool",
  "hand-wave": "spark",
};

export function commandIcon(name: string): IconName {
  return KNOWN[name] ?? "spark";
}
