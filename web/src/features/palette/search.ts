/** One thing the palette offers, with every name it can be found by. */
export interface Findable {
  readonly id: string;
  readonly names: readonly string[];
}

/** Full-width and half-width, capital and small letters alike. */
export function fold(text: string): string {
  return text.normalize("NFKC").toLowerCase().trim();
}

const NONE = 0;

/** How well `word` fits `name`, both folded: 0 not at all, 1 just its letters in order, up to 100. */
export function fit(word: string, name: string): number {
  if (word === "") return 1;
  if (name === word) return 100;
  if (name.startsWith(word)) return 90;
  const at = name.indexOf(word);
  if (at > 0) return /[\s:_-]/.test(name.charAt(at - 1)) ? 80 : 60;
  return inOrder(word, name);
}

/** The letters of `word` in their order with gaps; the fewer and shorter the gaps, the better. */
function inOrder(word: string, name: string): number {
  let from = 0;
  let gaps = 0;
  for (const letter of word) {
    const at = name.indexOf(letter, from);
    if (at < 0) return NONE;
    if (at > from) gaps += Math.min(at - from, 4);
    from = at + letter.length;
  }
  // One letter found anywhere says nothing.
  return Array.from(word).length < 2 ? NONE : Math.max(1, 40 - gaps * 4);
}

/** What fits, best first; what fits equally well stays in the order given. Every word must fit somewhere. */
export function search<T extends Findable>(query: string, among: readonly T[]): readonly T[] {
  const words = fold(query).split(/\s+/).filter(Boolean);
  if (words.length === 0) return among;
  const scored: { readonly item: T; readonly score: number }[] = [];
  for (const item of among) {
    const names = item.names.map(fold);
    let total = 0;
    for (const word of words) {
      const best = Math.max(NONE, ...names.map((name) => fit(word, name)));
      if (best === NONE) {
        total = NONE;
        break;
      }
      total += best;
    }
    if (total > NONE) scored.push({ item, score: total });
  }
  return scored.sort((a, b) => b.score - a.score).map(({ item }) => item);
}
