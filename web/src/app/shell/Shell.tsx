import { Outlet, useRouter } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { PaletteHost } from "~/features/palette/PaletteHost";
import { useWords } from "~/i18n/language";
import { DrawerContext } from "~/ui/drawer";
import { cx } from "~/ui/cx";
import styles from "./Shell.module.css";
import { Sidebar } from "./Sidebar";

const NARROW = "(width < 52rem)";

export function Shell(): ReactNode {
  const t = useWords();
  const [open, setOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const drawer = useMemo(() => ({ open, setOpen }), [open]);
  const router = useRouter();

  useEffect(
    () =>
      router.subscribe("onBeforeNavigate", ({ pathChanged }) => {
        if (pathChanged) setOpen(false);
      }),
    [router],
  );

  useEffect(() => {
    if (!open || !matchMedia(NARROW).matches) return undefined;
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === "Escape") setOpen(false);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [open]);

  return (
    <DrawerContext value={drawer}>
      <div className={styles["shell"]}>
        <a
          href="#main"
          className={styles["skip"]}
          onClick={(event) => {
            event.preventDefault();
            main.current?.focus();
          }}
        >
          {t.common.skipToContent}
        </a>
        <Sidebar
          className={cx(styles["sidebar"], open && styles["open"])}
          open={open}
          onClose={() => setOpen(false)}
        />
        {open && <div className={styles["shade"]} aria-hidden="true" onClick={() => setOpen(false)} />}
        <main ref={main} id="main" tabIndex={-1} className={styles["main"]}>
          <Outlet />
        </main>
      </div>
      <PaletteHost />
    </DrawerContext>
  );
}
