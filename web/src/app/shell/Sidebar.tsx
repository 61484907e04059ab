import { Link } from "@tanstack/react-router";
import { useEffect, useRef, type ReactNode } from "react";
import { SessionList } from "~/features/sessions/SessionList";
import { useWords } from "~/i18n/language";
import { openPalette, PALETTE_KEYS } from "~/lib/openPalette";
import { IconButton } from "~/ui/Button";
import { Icon } from "~/ui/Icon";
import { AccountMenu } from "./AccountMenu";
import { Brand } from "./Brand";
import styles from "./Sidebar.module.css";
import { cx } from "~/ui/cx";

interface SidebarProps {
  readonly className?: string | undefined;
  readonly open: boolean;
  readonly onClose: () => void;
}

export function Sidebar({ className, open, onClose }: SidebarProps): ReactNode {
  const t = useWords();
  const closer = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (open) closer.current?.focus();
  }, [open]);

  return (
    <div className={cx(styles["sidebar"], className)}>
      <div className={styles["top"]}>
        <Brand />
        <IconButton
          ref={closer}
          icon="close"
          label={t.common.closeSidebar}
          className={styles["close"]}
          onClick={onClose}
        />
      </div>
      <SessionList />
      <nav aria-label={t.common.mainNavigation} className={styles["nav"]}>
        <button type="button" className={styles["link"]} onClick={openPalette}>
          <Icon name="command" />
          {t.palette.open}
          <kbd className={styles["keys"]}>{PALETTE_KEYS}</kbd>
        </button>
        <Link to="/mistakes" className={styles["link"]}>
          <Icon name="book" />
          {t.common.mistakes}
        </Link>
        <Link to="/audit" className={styles["link"]}>
          <Icon name="log" />
          {t.common.audit}
        </Link>
        <Link to="/settings" className={styles["link"]}>
          <Icon name="settings" />
          {t.common.settings}
        </Link>
      </nav>
      <AccountMenu />
    </div>
  );
}
