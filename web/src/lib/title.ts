import { useEffect } from "react";

/** Names the page in the browser's tab and history, and for a screen reader that arrives on it. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Deskmate`;
    return () => {
      document.title = "Deskmate";
    };
  }, [title]);
}
