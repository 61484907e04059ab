import type { ReactNode } from "react";
import styles from "./Mistakes.module.css";

export function RichText({ text }: { readonly text: string }): ReactNode {
  return <div className={styles["text"]}>{text}</div>;
}
