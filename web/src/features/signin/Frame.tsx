import type { ReactNode } from "react";
import { useLanguage } from "~/i18n/language";
import { useTitle } from "~/lib/title";
import { OfflineBanner } from "~/ui/OfflineBanner";
import styles from "./Frame.module.css";

interface FrameProps {
  readonly title: string;
  readonly lead?: string | undefined;
  readonly children: ReactNode;
}

/** The desk on which the pages without an account lie. */
export function Frame({ title, lead, children }: FrameProps): ReactNode {
  const { words: t, language, choose } = useLanguage();
  useTitle(title);
  return (
    <div className={styles["frame"]}>
      <OfflineBanner />
      <header className={styles["top"]}>
        <span className={styles["brand"]}>
          <img src="/icon.svg" alt="" width={30} height={30} />
          {t.common.appName}
        </span>
        <button
          type="button"
          className={styles["language"]}
          lang={language === "zh" ? "en" : "zh-CN"}
          onClick={() => choose(language === "zh" ? "en" : "zh")}
        >
          {language === "zh" ? "English" : "中文"}
        </button>
      </header>
      <main className={styles["main"]}>
        <div className={styles["sheet"]}>
          <h1>{title}</h1>
          {lead !== undefined && <p className={styles["lead"]}>{lead}</p>}
          {children}
        </div>
        <p className={styles["motto"]}>{t.account.motto}</p>
      </main>
    </div>
  );
}
