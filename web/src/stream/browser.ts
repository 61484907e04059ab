import type { Presence } from "./follow.ts";
import type { Schedule } from "./frames.ts";

/** The ports of `follow` and `FrameBatch` as a browser fills them. */
export const presence: Presence = {
  online: () => navigator.onLine,
  onReturn(callback) {
    const seen = (): void => {
      if (document.visibilityState === "visible") callback();
    };
    addEventListener("online", callback);
    addEventListener("pageshow", callback);
    document.addEventListener("visibilitychange", seen);
    return () => {
      removeEventListener("online", callback);
      removeEventListener("pageshow", callback);
      document.removeEventListener("visibilitychange", seen);
    };
  },
};

export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    if (signal.aborted) end();
    else signal.addEventListener("abort", end);
  });
}

/** A page out of sight gets no frames, so a timer stands in. */
export const nextFrame: Schedule = (flush) => {
  let frame = 0;
  const timer = setTimeout(() => {
    cancelAnimationFrame(frame);
    flush();
  }, 120);
  frame = requestAnimationFrame(() => {
    clearTimeout(timer);
    flush();
  });
  return () => {
    clearTimeout(timer);
    cancelAnimationFrame(frame);
  };
};
