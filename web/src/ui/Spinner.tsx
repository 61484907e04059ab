import type { ReactNode } from "react";
import styles from "./Spinner.module.css";

/** Turns while something is under way; `label` is for those who do not see it. */
export function Spinner({
  label,
  size = 18,
}: {
  readonly label?: string;
  readonly size?: number;
}): ReactNode {
  return (
    <span
      className={styles["spinner"]}
      {...(label === undefined ? { "aria-hidden": true } : { role: "status" })}
    >
      <svg width={size} height={size} viewBox="0 0 24 24" fill="none" aria-hidden="true">
        <circle cx="12" cy="12" r="9" stroke="currentColor" strokeOpacity="0.22" strokeWidth="2.4" />
        <path d="M21 12a9 9 0 0 0-9-9" stroke="currentColor" strokeWidth="2.4" strokeLinecap="round" />
      </svg>
      {label !== undefined && <span className="visually-hidden">{label}</span>}
    </span>
  );
}
