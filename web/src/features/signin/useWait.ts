import { useState } from "react";
import { ApiError } from "~/api/errors";
import { secondsUntil, useNow } from "~/lib/clock";

const UNSAID_WAIT_S = 10;

/** Seconds that a refusal for too many tries asks to wait; 0 for every other error. */
export function waitOf(error: unknown): number {
  if (!(error instanceof ApiError) || error.status !== 429) return 0;
  return error.retryAfterS ?? UNSAID_WAIT_S;
}

/** Seconds still to wait, counted down. */
export function useWait(): { readonly left: number; readonly begin: (seconds: number) => void } {
  const [end, setEnd] = useState(0);
  const now = useNow(end > 0);
  const left = end === 0 ? 0 : secondsUntil(end, now);
  return { left, begin: (seconds) => setEnd(seconds > 0 ? Date.now() + seconds * 1000 : 0) };
}
