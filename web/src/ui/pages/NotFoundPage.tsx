import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useWords } from "~/i18n/language";
import styles from "./Page.module.css";

export function NotFoundPage(): ReactNode {
  const t = useWords();
  return (
    <div className={styles["centred"]}>
      <h1>{t.common.notFoundTitle}</h1>
      <p>{t.common.notFoundText}</p>
      <Link to="/">{t.common.goHome}</Link>
    </div>
  );
}
