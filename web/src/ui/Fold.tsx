import { useLayoutEffect, useRef, useState, type ReactNode } from "react";
import { useWords } from "~/i18n/language";
import { cx } from "./cx";
import styles from "./Fold.module.css";

/** Long content begins cut, with a button for the rest. */
export function Fold({ children }: { readonly children: ReactNode }): ReactNode {
  const t = useWords();
  const [isLong, setLong] = useState(false);
  const [open, setOpen] = useState(false);
  const content = useRef<HTMLDivElement>(null);

  useLayoutEffect(() => {
    const element = content.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => {
      if (!open) setLong(element.scrollHeight > element.clientHeight + 8);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [open]);

  return (
    <>
      <div
        ref={content}
        className={cx(styles["content"], !open && styles["closed"], isLong && !open && styles["cut"])}
      >
        {children}
      </div>
      {isLong && (
        <button
          type="button"
          className={styles["toggle"]}
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          {open ? t.states.less : t.states.whole}
        </button>
      )}
    </>
  );
}
