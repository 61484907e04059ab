import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useLanguage } from "~/i18n/language";
import { dayAndTime } from "~/lib/dates";
import { ConfirmationCard } from "~/ui/confirmation/ConfirmationCard";
import { useConfirmation } from "~/ui/confirmation/useConfirmation";
import { ErrorNotice } from "~/ui/ErrorNotice";
import { PageBody } from "~/ui/PageBody";
import { ResultView } from "~/ui/ResultView";
import { Skeleton } from "~/ui/Skeleton";
import styles from "./ConfirmationPage.module.css";

/**
 * Where a link from a terminal or an app leads. The question is fetched after the page has loaded,
 * because the cookie does not come along on the way here from another place.
 */
export function ConfirmationPage(): ReactNode {
  const { words: t, tag } = useLanguage();
  const { confirmationId } = useParams({ from: "/shell/confirmations/$confirmationId" });
  const state = useConfirmation(confirmationId);
  const { confirmation } = state;
  return (
    <PageBody title={t.confirmation.pageTitle}>
      {confirmation === undefined ? (
        state.loadError === null ? (
          <Skeleton rows={1} look="card" />
        ) : (
          <ErrorNotice error={state.loadError} onRetry={state.reload} />
        )
      ) : (
        <div className={styles["page"]}>
          {confirmation.status === "pending" && <p className={styles["lead"]}>{t.confirmation.lead}</p>}
          <ConfirmationCard
            confirmation={confirmation}
            deciding={state.deciding}
            error={state.decideError}
            onDecide={state.decide}
          />
          {confirmation.status === "approved" && confirmation.result != null && (
            <ResultView entry={confirmation.capability} value={confirmation.result} />
          )}
          <p className={styles["foot"]}>
            <span>{t.confirmation.asked(dayAndTime(tag, confirmation.created_at))}</span>
            {confirmation.session_id !== null && confirmation.session_id !== "" && (
              <Link to="/s/$sessionId" params={{ sessionId: confirmation.session_id }}>
                {t.confirmation.toChat}
              </Link>
            )}
          </p>
        </div>
      )}
    </PageBody>
  );
}
