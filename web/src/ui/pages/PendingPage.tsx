import type { ReactNode } from "react";
import { useWords } from "~/i18n/language";
import { Spinner } from "../Spinner";
import styles from "./Page.module.css";

export function PendingPage(): ReactNode {
  const t = useWords();
  return (
    <div className={styles["centred"]}>
      <Spinner label={t.common.loading} size={26} />
    </div>
  );
}
