import type { ReactNode } from "react";
import { useWords } from "~/i18n/language";
import { segments } from "~/lib/invisible";
import styles from "./VisibleText.module.css";

/** Text of which nothing stays hidden: what has no shape is shown by its code point. */
export function VisibleText({ text }: { readonly text: string }): ReactNode {
  const t = useWords();
  return segments(text).map((segment, index) =>
    segment.kind === "text" ? (
      segment.text
    ) : (
      <span key={index} className={styles["hidden"]} title={t.confirmation.invisible}>
        <span className="visually-hidden">{t.confirmation.invisible} </span>
        {segment.code}
        {segment.count > 1 && ` × ${segment.count}`}
      </span>
    ),
  );
}
