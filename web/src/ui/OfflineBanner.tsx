import type { ReactNode } from "react";
import { useWords } from "~/i18n/language";
import { useOnline } from "~/lib/online";
import { Icon } from "./Icon";
import styles from "./OfflineBanner.module.css";

export function OfflineBanner(): ReactNode {
  const t = useWords();
  const online = useOnline();
  return (
    <div role="status" className={styles["slot"]}>
      {!online && (
        <p className={styles["banner"]}>
          <Icon name="wifiOff" size={17} />
          {t.states.offline}
        </p>
      )}
    </div>
  );
}
