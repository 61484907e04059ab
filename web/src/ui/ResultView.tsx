import type { ReactNode } from "react";
import { fieldLabel } from "~/i18n/capabilities";
import { useLanguage } from "~/i18n/language";
import { dayAndTime } from "~/lib/dates";
import styles from "./ResultView.module.css";

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)$/;
/** Of use to programs; they stay under "as data". */
const TECHNICAL = new Set(["version", "next", "namespace"]);

interface ResultViewProps {
  readonly entry: string;
  readonly value: unknown;
}

/** Any result of a capability for a person: names in words, dates as dates, lists as cards. */
export function ResultView({ entry, value }: ResultViewProps): ReactNode {
  const { words: t } = useLanguage();
  return (
    <div className={styles["result"]}>
      <Value entry={entry} value={value} depth={0} />
      <details className={styles["raw"]}>
        <summary>{t.palette.asData}</summary>
        {/* Scrolls, so the keyboard must reach it. */}
        {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
        <pre tabIndex={0}>{JSON.stringify(value, null, 2)}</pre>
      </details>
    </div>
  );
}

interface ValueProps extends ResultViewProps {
  readonly depth: number;
}

function Value({ entry, value, depth }: ValueProps): ReactNode {
  const { words: t, tag, language } = useLanguage();
  if (value === null || value === undefined || value === "")
    return <span className={styles["faint"]}>–</span>;
  if (typeof value === "boolean") return value ? t.form.yes : t.form.no;
  if (typeof value === "number") return new Intl.NumberFormat(tag).format(value);
  if (typeof value === "string")
    return INSTANT.test(value) ? (
      <time dateTime={value}>{dayAndTime(tag, value)}</time>
    ) : (
      <span className={styles["text"]}>{value}</span>
    );
  if (Array.isArray(value)) {
    const items = value as readonly unknown[];
    if (items.length === 0) return <span className={styles["faint"]}>{t.palette.nothingFound}</span>;
    if (items.every((item) => typeof item !== "object"))
      return (
        <span className={styles["words"]}>
          {items.map((item, index) => (
            <span key={index}>{String(item)}</span>
          ))}
        </span>
      );
    return (
      <ol className={styles["cards"]}>
        {items.map((item, index) => (
          <li key={index}>
            <Value entry={entry} value={item} depth={depth + 1} />
          </li>
        ))}
      </ol>
    );
  }
  if (typeof value !== "object") return null;
  const members = Object.entries(value as Readonly<Record<string, unknown>>).filter(
    ([name, member]) =>
      !TECHNICAL.has(name) && member !== null && member !== "" && !isEmptyInside(member, depth),
  );
  const [only, ...others] = members;
  // One list is the whole answer: its name would only repeat the title.
  if (only !== undefined && others.length === 0 && Array.isArray(only[1]))
    return <Value entry={entry} value={only[1]} depth={depth} />;
  return (
    <dl className={styles["members"]}>
      {members.map(([name, member]) => (
        <div key={name}>
          <dt>{fieldLabel(language, entry, name, undefined)}</dt>
          <dd>
            <Value entry={entry} value={member} depth={depth + 1} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function isEmptyInside(member: unknown, depth: number): boolean {
  return depth > 0 && Array.isArray(member) && member.length === 0;
}
