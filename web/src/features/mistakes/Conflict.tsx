import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { fieldLabel } from "~/i18n/capabilities";
import { useLanguage } from "~/i18n/language";
import { Button } from "~/ui/Button";
import { ErrorNotice } from "~/ui/ErrorNotice";
import { Notice } from "~/ui/Notice";
import { Skeleton } from "~/ui/Skeleton";
import type { FormField } from "~/ui/schema-form/fields";
import type { FieldValue, FormValues } from "~/ui/schema-form/values";
import { differences, valuesOf } from "./changes";
import { newestQuery, type Entry } from "./entries";
import styles from "./Mistakes.module.css";

interface ConflictProps {
  readonly base: Entry;
  readonly fields: readonly FormField[];
  readonly mine: FormValues;
  readonly isSaving: boolean;
  readonly onKeepMine: (newest: Entry) => void;
  readonly onTakeTheirs: (newest: Entry) => void;
}

/** Somebody else, such as a conversation, changed the entry first: what changed, and what to do now. */
export function Conflict(props: ConflictProps): ReactNode {
  const { base, fields, mine, isSaving, onKeepMine, onTakeTheirs } = props;
  const { words: t, language } = useLanguage();
  const found = useQuery(newestQuery(base));
  if (found.isPending) return <Skeleton rows={1} />;
  if (found.isError) return <ErrorNotice error={found.error} onRetry={() => void found.refetch()} />;
  const newest = found.data;
  if (newest === null)
    return (
      <Notice tone="danger" role="alert" title={t.mistakes.goneTitle}>
        {t.mistakes.goneText}
      </Notice>
    );
  const theirs = valuesOf(fields, newest);
  const changed = differences(fields, base, newest);
  return (
    <Notice tone="warning" role="alert" title={t.mistakes.conflictTitle}>
      <p>
        {newest.archived_at !== null && base.archived_at === null
          ? t.mistakes.conflictArchived
          : t.mistakes.conflictText}
      </p>
      <dl className={styles["conflict"]}>
        {changed.map((name) => (
          <div key={name}>
            <dt>{fieldLabel(language, "mistakes::update", name, undefined)}</dt>
            <dd>
              <span>{t.mistakes.theirs}</span> {shown(theirs[name])}
            </dd>
            {shown(mine[name]) !== shown(theirs[name]) && (
              <dd>
                <span>{t.mistakes.yours}</span> {shown(mine[name])}
              </dd>
            )}
          </div>
        ))}
      </dl>
      <div className={styles["conflictActions"]}>
        <Button small disabled={isSaving} onClick={() => onKeepMine(newest)}>
          {t.mistakes.keepMine}
        </Button>
        <Button small disabled={isSaving} onClick={() => onTakeTheirs(newest)}>
          {t.mistakes.takeTheirs}
        </Button>
      </div>
    </Notice>
  );
}

function shown(value: FieldValue | undefined): string {
  const text = Array.isArray(value) ? value.join(", ") : String(value ?? "");
  return text === "" ? "–" : text;
}
