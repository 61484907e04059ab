import { useId, type ReactNode } from "react";
import { useLanguage } from "~/i18n/language";
import { day, dayAndTime } from "~/lib/dates";
import { IconButton } from "~/ui/Button";
import { Fold } from "~/ui/Fold";
import { excerpt, type Entry } from "./entries";
import styles from "./Mistakes.module.css";
import { RichText } from "./RichText";
import type { Removal } from "./RemoveFlow";

interface EntryCardProps {
  readonly entry: Entry;
  readonly onTag: (tag: string) => void;
  readonly onSubject: (subject: string) => void;
  readonly onEdit: () => void;
  readonly onRemoval: (kind: Removal["kind"]) => void;
}

/** One mistake as a page of the notebook: what was asked, what was answered, what is right, and why. */
export function EntryCard({ entry, onTag, onSubject, onEdit, onRemoval }: EntryCardProps): ReactNode {
  const { words: t, tag: languageTag } = useLanguage();
  const id = useId();
  const name = excerpt(entry.question, 40);
  const isArchived = entry.archived_at !== null;
  return (
    <article className={styles["card"]} aria-labelledby={id}>
      <header className={styles["cardHead"]}>
        {entry.subject !== "" && (
          <button
            type="button"
            className={styles["subject"]}
            aria-label={t.mistakes.onlySubject(entry.subject)}
            onClick={() => onSubject(entry.subject)}
          >
            {entry.subject}
          </button>
        )}
        <span className={styles["dates"]}>
          <time dateTime={entry.created_at} title={dayAndTime(languageTag, entry.created_at)}>
            {day(languageTag, entry.created_at)}
          </time>
          {entry.archived_at !== null ? (
            <> · {t.mistakes.archivedOn(day(languageTag, entry.archived_at))}</>
          ) : (
            entry.version > 1 && <> · {t.mistakes.changedOn(day(languageTag, entry.updated_at))}</>
          )}
        </span>
        <div className={styles["cardActions"]}>
          <IconButton icon="edit" size={17} label={t.mistakes.editOf(name)} onClick={onEdit} />
          {!isArchived && (
            <IconButton
              icon="archive"
              size={17}
              label={t.mistakes.archiveOf(name)}
              onClick={() => onRemoval("archive")}
            />
          )}
          <IconButton
            icon="trash"
            size={17}
            label={t.mistakes.removeOf(name)}
            onClick={() => onRemoval("remove")}
          />
        </div>
      </header>
      <div id={id} className={styles["question"]}>
        <Fold>
          <RichText text={entry.question} />
        </Fold>
      </div>
      {(entry.answer !== "" || entry.correct_answer !== "") && (
        <dl className={styles["answers"]}>
          {entry.answer !== "" && (
            <div className={styles["mine"]}>
              <dt>{t.mistakes.answer}</dt>
              <dd>
                <Fold>
                  <RichText text={entry.answer} />
                </Fold>
              </dd>
            </div>
          )}
          {entry.correct_answer !== "" && (
            <div className={styles["right"]}>
              <dt>{t.mistakes.correctAnswer}</dt>
              <dd>
                <Fold>
                  <RichText text={entry.correct_answer} />
                </Fold>
              </dd>
            </div>
          )}
        </dl>
      )}
      {entry.cause !== "" && (
        <div className={styles["cause"]}>
          <strong>{t.mistakes.cause}</strong>
          <Fold>
            <RichText text={entry.cause} />
          </Fold>
        </div>
      )}
      {entry.tags.length > 0 && (
        <ul className={styles["tags"]} aria-label={t.mistakes.tags}>
          {entry.tags.map((tag) => (
            <li key={tag}>
              <button type="button" aria-label={t.mistakes.onlyTag(tag)} onClick={() => onTag(tag)}>
                {tag}
              </button>
            </li>
          ))}
        </ul>
      )}
    </article>
  );
}
