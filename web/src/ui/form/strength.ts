export type Strength = "short" | "common" | "weak" | "fair" | "good" | "strong";

export const MIN_PASSWORD = 8;
const COMMON =
  /^(?:p[a@]ss?w[o0]rd|qwerty|asdf|1q2w3e|abc|admin|welcome|letmein|iloveyou|deskmate|changeme|woaini|5201314)/i;

/**
 * A hint while typing, not a gate: the server decides. Length counts most, because that is what
 * makes a password hard to guess; repeated and neighbouring characters count little.
 */
export function strengthOf(password: string): Strength {
  const characters = Array.from(password);
  if (characters.length < MIN_PASSWORD) return "short";
  if (COMMON.test(password) && characters.length < 14) return "common";
  let weight = 0;
  characters.forEach((character, index) => {
    const before = characters[index - 1];
    const step =
      before === undefined ? 9 : Math.abs((character.codePointAt(0) ?? 0) - (before.codePointAt(0) ?? 0));
    weight += step <= 1 ? 0.25 : 1;
  });
  const kinds = [/[a-z]/, /[A-Z]/, /\d/, /[^a-zA-Z\d]/].filter((kind) => kind.test(password)).length;
  const score = weight + kinds * 1.5;
  if (score < 10) return "weak";
  if (score < 15) return "fair";
  return score < 20 ? "good" : "strong";
}
