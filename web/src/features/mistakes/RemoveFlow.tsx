import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, type ReactNode } from "react";
import { runCommand } from "~/api/commands";
import { useWords } from "~/i18n/language";
import { ConfirmationDialog } from "~/ui/confirmation/ConfirmationDialog";
import { Dialog } from "~/ui/Dialog";
import { ErrorNotice } from "~/ui/ErrorNotice";
import { Skeleton } from "~/ui/Skeleton";
import { excerpt, type Entry } from "./entries";

export interface Removal {
  readonly kind: "archive" | "remove";
  readonly entry: Entry;
}

interface RemoveFlowProps {
  readonly removal: Removal;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Asks the server, which asks back: the dialog shows what is stored there, not what this page means. */
export function RemoveFlow({ removal, onDone, onClose }: RemoveFlowProps): ReactNode {
  const t = useWords();
  const asked = useRef(false);
  const ask = useMutation({
    mutationFn: () => runCommand(`mistakes::${removal.kind}`, { id: removal.entry.id }),
    onSuccess: (outcome) => {
      if (outcome.kind === "result") {
        onDone();
        onClose();
      }
    },
  });
  const { mutate } = ask;
  useEffect(() => {
    if (asked.current) return;
    asked.current = true;
    mutate();
  }, [mutate]);

  if (ask.data?.kind === "confirmation")
    return (
      <ConfirmationDialog
        id={ask.data.confirmationId}
        about={excerpt(removal.entry.question, 200)}
        onDecided={(answer) => {
          if (answer.status === "approved") onDone();
        }}
        onClose={onClose}
      />
    );
  return (
    <Dialog title={removal.kind === "archive" ? t.mistakes.archive : t.mistakes.remove} onClose={onClose}>
      {ask.error === null ? (
        <Skeleton rows={2} />
      ) : (
        <ErrorNotice error={ask.error} onRetry={() => ask.mutate()} />
      )}
    </Dialog>
  );
}
