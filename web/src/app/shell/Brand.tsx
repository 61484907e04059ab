import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useWords } from "~/i18n/language";
import styles from "./Sidebar.module.css";

export function Brand(): ReactNode {
  const t = useWords();
  return (
    <Link to="/" className={styles["brand"]}>
      <img src="/icon.svg" alt="" width={28} height={28} />
      <span>{t.common.appName}</span>
    </Link>
  );
}
