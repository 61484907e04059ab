import { useEffect, useState, type ReactNode } from "react";
import { useWords } from "~/i18n/language";
import { Button } from "./Button";

/** Copies text and says so for a moment. */
export function CopyButton({ text, label }: { readonly text: string; readonly label?: string }): ReactNode {
  const t = useWords();
  const [state, setState] = useState<"idle" | "copied" | "failed">("idle");
  useEffect(() => {
    if (state === "idle") return undefined;
    const timer = setTimeout(() => setState("idle"), 2500);
    return () => clearTimeout(timer);
  }, [state]);

  return (
    <>
      <Button
        small
        icon={state === "copied" ? "check" : "copy"}
        onClick={() => {
          copy(text).then(
            () => setState("copied"),
            () => setState("failed"),
          );
        }}
      >
        {state === "copied"
          ? t.common.copied
          : state === "failed"
            ? t.states.copyFailed
            : (label ?? t.common.copy)}
      </Button>
      <span role="status" className="visually-hidden">
        {state === "copied" ? t.common.copied : state === "failed" ? t.states.copyFailed : ""}
      </span>
    </>
  );
}

async function copy(text: string): Promise<void> {
  // Over plain http on a home network there is no clipboard.
  const clipboard = navigator.clipboard as Clipboard | undefined;
  if (clipboard === undefined) throw new Error("no clipboard on this page");
  await clipboard.writeText(text);
}
