/**
 * Characters that a reader does not see although they are part of what is approved: joiners and
 * zero-width spaces, variation selectors, tags, direction marks and controls.
 */
const INVISIBLE =
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u2028-\u202E\u2060-\u206F\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFFB\u{E0000}-\u{E0FFF}]/u;

export type Segment =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "hidden"; readonly code: string; readonly count: number };

/** Cuts text into what is seen and what is not; a run of the same hidden character is one segment. */
export function segments(text: string): readonly Segment[] {
  const found: Segment[] = [];
  let plain = "";
  for (const character of text) {
    if (!INVISIBLE.test(character)) {
      plain += character;
      continue;
    }
    if (plain !== "") found.push({ kind: "text", text: plain });
    plain = "";
    const code = `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
    const last = found.at(-1);
    if (last?.kind === "hidden" && last.code === code) {
      found[found.length - 1] = { ...last, count: last.count + 1 };
    } else {
      found.push({ kind: "hidden", code, count: 1 });
    }
  }
  if (plain !== "") found.push({ kind: "text", text: plain });
  return found;
}
