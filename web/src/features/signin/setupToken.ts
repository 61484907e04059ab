/** The one-time token in what was opened or pasted: a whole link, its fragment, or the token alone. */
export function tokenIn(text: string): string {
  const fragment = text.includes("#") ? text.slice(text.indexOf("#") + 1) : text;
  const named = new URLSearchParams(fragment).get("token");
  return (named ?? (fragment.includes("=") ? "" : fragment)).trim();
}

/** Takes the token out of the address, so that it stays in no history and on no screen. */
export function takeTokenFromAddress(): void {
  if (location.hash === "") return;
  history.replaceState(history.state, "", location.pathname + location.search);
}
