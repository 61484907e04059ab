import type { ReactNode } from "react";
import { useWords } from "~/i18n/language";
import { openPalette } from "~/lib/openPalette";
import { IconButton } from "./Button";
import { useDrawer } from "./drawer";
import styles from "./PageHeader.module.css";

interface PageHeaderProps {
  readonly title: ReactNode;
  readonly actions?: ReactNode;
}

/** The bar over each page: the way to the drawer on a phone, the title, what can be done here. */
export function PageHeader({ title, actions }: PageHeaderProps): ReactNode {
  const t = useWords();
  const drawer = useDrawer();
  return (
    <header className={styles["header"]}>
      <IconButton
        icon="menu"
        label={t.common.openSidebar}
        className={styles["menu"]}
        aria-expanded={drawer.open}
        onClick={() => drawer.setOpen(true)}
      />
      <h1 className={styles["title"]}>{title}</h1>
      <div className={styles["actions"]}>
        {actions}
        {/* Where there is no keyboard to press Ctrl+K on. */}
        <IconButton icon="command" label={t.palette.open} className={styles["menu"]} onClick={openPalette} />
      </div>
    </header>
  );
}
