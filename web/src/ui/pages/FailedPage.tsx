import { useRouter, type ErrorComponentProps } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ErrorNotice } from "../ErrorNotice";
import styles from "./Page.module.css";

/** A page that could not be shown. Trying again loads its data once more. */
export function FailedPage({ error, reset }: ErrorComponentProps): ReactNode {
  const router = useRouter();
  return (
    <div className={styles["centred"]}>
      <div className={styles["wide"]}>
        <ErrorNotice
          error={error}
          onRetry={() => {
            reset();
            void router.invalidate();
          }}
        />
      </div>
    </div>
  );
}
