import { useEffect, useId, useRef, type ReactNode } from "react";
import { useWords } from "~/i18n/language";
import { Button, IconButton } from "./Button";
import styles from "./Dialog.module.css";
import { cx } from "./cx";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly footer?: ReactNode;
  readonly wide?: boolean;
  readonly role?: "dialog" | "alertdialog";
}

/**
 * A modal over the page, mounted while it is open. The browser's own dialog keeps the focus inside,
 * closes on Escape and gives the focus back. `data-first-focus` marks where the focus starts.
 */
export function Dialog({ title, onClose, children, footer, wide, role = "dialog" }: DialogProps): ReactNode {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const t = useWords();

  useEffect(() => {
    const dialog = element.current;
    if (dialog?.open === false) {
      dialog.showModal();
      dialog.querySelector<HTMLElement>("[data-first-focus]")?.focus();
    }
    return () => dialog?.close();
  }, []);

  return (
    // The click on the backdrop is a second way; Escape and the button are the keyboard's.
    // eslint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions
    <dialog
      ref={element}
      role={role}
      aria-labelledby={heading}
      className={cx(styles["dialog"], wide === true && styles["wide"])}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
    >
      <div className={styles["panel"]}>
        <header className={styles["header"]}>
          <h2 id={heading}>{title}</h2>
          <IconButton icon="close" label={t.common.close} onClick={onClose} />
        </header>
        <div className={styles["body"]}>{children}</div>
        {footer !== undefined && <footer className={styles["footer"]}>{footer}</footer>}
      </div>
    </dialog>
  );
}

interface ConfirmDialogProps {
  readonly title: string;
  readonly children: ReactNode;
  readonly confirmLabel: string;
  readonly busy?: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** Asks before something that cannot be taken back. Cancelling is where the focus starts. */
export function ConfirmDialog({
  title,
  children,
  confirmLabel,
  busy = false,
  onConfirm,
  onClose,
}: ConfirmDialogProps): ReactNode {
  const t = useWords();
  return (
    <Dialog
      title={title}
      onClose={onClose}
      role="alertdialog"
      footer={
        <>
          <Button onClick={onClose} data-first-focus>
            {t.common.cancel}
          </Button>
          <Button look="danger" disabled={busy} onClick={onConfirm}>
            {confirmLabel}
          </Button>
        </>
      }
    >
      {children}
    </Dialog>
  );
}
