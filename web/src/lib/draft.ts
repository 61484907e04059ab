import { useCallback, useEffect, useRef, useState } from "react";
import { readStored, writeStored } from "./storage";

function parsed(text: string | null): unknown {
  if (text === null) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null; // Not ours, or of an older page: begin afresh.
  }
}

interface Draft<T> {
  readonly value: T;
  readonly set: (next: T) => void;
  /** Forgets what is stored and goes back to `initial`. */
  readonly drop: () => void;
  /** Whether the page began with something typed earlier. */
  readonly restored: boolean;
}

/**
 * State of a form that outlives a reload and an expired sign-in. `key` names user and form, so that
 * nobody meets another's words.
 */
export function useDraft<T>(key: string, initial: T): Draft<T> {
  const name = `deskmate.draft.${key}`;
  const [{ value, restored }, setState] = useState(() => {
    // Only this form writes under this name.
    const kept = parsed(readStored(name)) as T | null;
    return { value: kept ?? initial, restored: kept !== null };
  });
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const pending = useRef<T | null>(null);

  const flush = useCallback(() => {
    clearTimeout(timer.current);
    if (pending.current !== null) writeStored(name, JSON.stringify(pending.current));
    pending.current = null;
  }, [name]);
  useEffect(() => {
    addEventListener("pagehide", flush);
    return () => {
      removeEventListener("pagehide", flush);
      flush();
    };
  }, [flush]);

  const set = useCallback(
    (next: T) => {
      setState((state) => ({ ...state, value: next }));
      pending.current = next;
      clearTimeout(timer.current);
      timer.current = setTimeout(flush, 300);
    },
    [flush],
  );
  const drop = useCallback(() => {
    clearTimeout(timer.current);
    pending.current = null;
    writeStored(name, null);
    setState({ value: initial, restored: false });
  }, [name, initial]);
  return { value, set, drop, restored };
}
