import type { ReactNode } from "react";
import styles from "./Settings.module.css";

interface SectionProps {
  readonly title: string;
  readonly lead?: ReactNode;
  readonly action?: ReactNode;
  readonly children: ReactNode;
}

export function Section({ title, lead, action, children }: SectionProps): ReactNode {
  return (
    <section className={styles["section"]} aria-label={title}>
      <div className={styles["sectionHead"]}>
        <div>
          <h2>{title}</h2>
          {lead !== undefined && <p className={styles["lead"]}>{lead}</p>}
        </div>
        {action}
      </div>
      {children}
    </section>
  );
}
