import type { ReactNode } from "react";
import type { Confirmation, Decision } from "~/api/confirmations";
import { useLanguage } from "~/i18n/language";
import { capabilityText, fieldLabel } from "~/i18n/capabilities";
import { minutesAndSeconds, secondsUntil, useNow } from "~/lib/clock";
import { Button } from "../Button";
import { cx } from "../cx";
import { errorSentence, ErrorNotice } from "../ErrorNotice";
import { Icon } from "../Icon";
import { VisibleText } from "../VisibleText";
import styles from "./ConfirmationCard.module.css";

export interface ConfirmationCardProps {
  readonly confirmation: Confirmation;
  readonly onDecide: (decision: Decision) => void;
  /** The decision that is on its way. */
  readonly deciding?: Decision | null;
  /** Why the last decision did not arrive. */
  readonly error?: unknown;
  /** Which object the arguments mean, from the page's own data, never from a model's text. */
  readonly about?: ReactNode;
  /** Without frame and heading, where a dialog or page has its own. */
  readonly bare?: boolean;
}

/**
 * One question of a capability to its user: what would be done with which arguments, as they are
 * stored, until when, and what became of it.
 */
export function ConfirmationCard({
  confirmation,
  onDecide,
  deciding = null,
  error,
  about,
  bare = false,
}: ConfirmationCardProps): ReactNode {
  const { words: t, language } = useLanguage();
  const isPending = confirmation.status === "pending";
  const now = useNow(isPending);
  const left = secondsUntil(new Date(confirmation.expires_at).getTime(), now);
  const status = isPending && left === 0 ? "expired" : confirmation.status;
  const text = capabilityText(language, confirmation.capability, confirmation);

  return (
    <section
      className={cx(styles["card"], bare && styles["bare"], styles[status])}
      aria-label={bare ? undefined : text.title}
    >
      {!bare && (
        <header className={styles["header"]}>
          <Icon name="shield" size={19} />
          <h3>{text.title}</h3>
          {status === "pending" && <Countdown seconds={left} />}
        </header>
      )}
      <p className={styles["description"]}>{text.description}</p>
      {about !== undefined && <div className={styles["about"]}>{about}</div>}
      <Arguments confirmation={confirmation} />
      {error !== undefined && error !== null && <ErrorNotice error={error} />}
      {status === "pending" ? (
        <footer className={styles["footer"]}>
          {bare && <Countdown seconds={left} />}
          <Button
            data-first-focus={bare ? true : undefined}
            disabled={deciding !== null}
            onClick={() => onDecide("decline")}
          >
            {deciding === "decline" ? t.confirmation.declining : t.confirmation.decline}
          </Button>
          <Button look="danger" disabled={deciding !== null} onClick={() => onDecide("approve")}>
            {deciding === "approve" ? t.confirmation.approving : t.confirmation.approve}
          </Button>
        </footer>
      ) : (
        <Outcome confirmation={confirmation} status={status} />
      )}
    </section>
  );
}

function Countdown({ seconds }: { readonly seconds: number }): ReactNode {
  const { words: t } = useLanguage();
  return (
    <span className={styles["countdown"]} role="timer">
      <Icon name="clock" size={15} />
      <span className="visually-hidden">{t.confirmation.expiresIn}</span>
      <span>{minutesAndSeconds(seconds)}</span>
    </span>
  );
}

/** The stored arguments, nothing of them hidden. */
function Arguments({ confirmation }: { readonly confirmation: Confirmation }): ReactNode {
  const { words: t, language } = useLanguage();
  const entries = Object.entries(confirmation.arguments);
  if (entries.length === 0) return <p className={styles["none"]}>{t.confirmation.noArguments}</p>;
  return (
    <dl className={styles["arguments"]} aria-label={t.confirmation.arguments}>
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>
            <VisibleText text={fieldLabel(language, confirmation.capability, name, undefined)} />
          </dt>
          <dd>
            <VisibleText text={typeof value === "string" ? value : JSON.stringify(value, null, 2)} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Outcome({
  confirmation,
  status,
}: {
  readonly confirmation: Confirmation;
  readonly status: Exclude<Confirmation["status"], "pending">;
}): ReactNode {
  const { words: t } = useLanguage();
  const failed = confirmation.error ?? null;
  const running = status === "approved" && failed === null && confirmation.result == null;
  const sentence =
    failed !== null
      ? t.confirmation.failed(errorSentence(t, failed.code, failed.message))
      : running
        ? t.confirmation.running
        : t.confirmation.outcome[status];
  const look = failed !== null ? "failedOutcome" : status === "approved" ? "done" : "quiet";
  return (
    <p className={cx(styles["outcome"], styles[look])} role="status">
      <Icon
        name={
          failed !== null
            ? "warning"
            : status === "approved"
              ? "check"
              : status === "expired"
                ? "clock"
                : "close"
        }
        size={17}
      />
      <span>{sentence}</span>
    </p>
  );
}
