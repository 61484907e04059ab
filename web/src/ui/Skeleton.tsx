import type { ReactNode } from "react";
import { useWords } from "~/i18n/language";
import styles from "./Skeleton.module.css";
import { cx } from "./cx";

interface SkeletonProps {
  readonly rows?: number;
  readonly look?: "card" | "row";
}

/** The shape of what is coming. Shows only after a moment, so that a quick answer does not flicker. */
export function Skeleton({ rows = 3, look = "row" }: SkeletonProps): ReactNode {
  const t = useWords();
  return (
    <div role="status" className={styles["skeleton"]}>
      <span className="visually-hidden">{t.common.loading}</span>
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} aria-hidden="true" className={cx(styles["block"], styles[look])}>
          <i />
          <i />
          {look === "card" && <i />}
        </div>
      ))}
    </div>
  );
}
