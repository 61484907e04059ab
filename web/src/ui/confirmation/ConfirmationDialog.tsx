import type { ReactNode } from "react";
import type { Confirmation } from "~/api/confirmations";
import { useLanguage } from "~/i18n/language";
import { capabilityText } from "~/i18n/capabilities";
import { Button } from "../Button";
import { Dialog } from "../Dialog";
import { ErrorNotice } from "../ErrorNotice";
import { Skeleton } from "../Skeleton";
import { ConfirmationCard } from "./ConfirmationCard";
import { useConfirmation } from "./useConfirmation";

interface ConfirmationDialogProps {
  readonly id: string;
  readonly about?: ReactNode;
  /** After this dialog's own decision has been carried out. */
  readonly onDecided?: (answer: Confirmation) => void;
  readonly onClose: () => void;
}

/** Asks over the page. Closing decides nothing: the question stays open until it expires. */
export function ConfirmationDialog({ id, about, onDecided, onClose }: ConfirmationDialogProps): ReactNode {
  const { words: t, language } = useLanguage();
  const state = useConfirmation(id, (answer) => {
    onDecided?.(answer);
    if (answer.status === "declined" || (answer.status === "approved" && answer.error == null)) onClose();
  });
  const { confirmation } = state;
  return (
    <Dialog
      title={
        confirmation === undefined
          ? t.confirmation.title
          : capabilityText(language, confirmation.capability, confirmation).title
      }
      role="alertdialog"
      onClose={onClose}
    >
      {confirmation === undefined ? (
        state.loadError === null ? (
          <Skeleton rows={2} />
        ) : (
          <ErrorNotice error={state.loadError} onRetry={state.reload} />
        )
      ) : (
        <ConfirmationCard
          bare
          confirmation={confirmation}
          about={about}
          deciding={state.deciding}
          error={state.decideError}
          onDecide={state.decide}
        />
      )}
      {confirmation !== undefined && confirmation.status !== "pending" && (
        <Button onClick={onClose}>{t.common.close}</Button>
      )}
    </Dialog>
  );
}
