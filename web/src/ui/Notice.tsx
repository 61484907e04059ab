import type { ReactNode } from "react";
import { cx } from "./cx";
import { Icon, type IconName } from "./Icon";
import styles from "./Notice.module.css";

const ICONS: Record<NoticeTone, IconName> = {
  info: "info",
  warning: "lamp",
  danger: "warning",
  success: "check",
};
export type NoticeTone = "info" | "warning" | "danger" | "success";

interface NoticeProps {
  readonly tone?: NoticeTone;
  readonly icon?: IconName;
  readonly title?: string;
  readonly children?: ReactNode;
  /** What the reader can do about it. */
  readonly action?: ReactNode;
  /** "alert" interrupts a screen reader, "status" waits for a pause; without one it is only there. */
  readonly role?: "alert" | "status";
  readonly className?: string | undefined;
}

export function Notice({
  tone = "info",
  icon,
  title,
  children,
  action,
  role,
  className,
}: NoticeProps): ReactNode {
  return (
    <div role={role} className={cx(styles["notice"], styles[tone], className)}>
      <Icon name={icon ?? ICONS[tone]} size={18} />
      <div className={styles["text"]}>
        {title !== undefined && <p className={styles["title"]}>{title}</p>}
        {children}
      </div>
      {action !== undefined && <div className={styles["action"]}>{action}</div>}
    </div>
  );
}
