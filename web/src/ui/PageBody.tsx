import type { ReactNode } from "react";
import { useTitle } from "~/lib/title";
import { OfflineBanner } from "./OfflineBanner";
import { PageHeader } from "./PageHeader";
import styles from "./PageBody.module.css";
import { cx } from "./cx";

interface PageBodyProps {
  readonly title: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  readonly wide?: boolean;
}

/** A page that is read from top to bottom: header, then one column that scrolls. */
export function PageBody({ title, actions, children, wide }: PageBodyProps): ReactNode {
  useTitle(title);
  return (
    <div className={styles["page"]}>
      <PageHeader title={title} actions={actions} />
      <OfflineBanner />
      <div className={styles["scroll"]}>
        <div className={cx(styles["column"], wide === true && styles["wide"])}>{children}</div>
      </div>
    </div>
  );
}
