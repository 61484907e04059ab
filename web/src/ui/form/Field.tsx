import { useId, type ReactNode } from "react";
import { useWords } from "~/i18n/language";
import { Icon } from "../Icon";
import styles from "./Form.module.css";

/** What a control needs to be named, explained and marked wrong. */
export interface ControlProps {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": true | undefined;
}

interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
  readonly optional?: boolean | undefined;
  /** Stands at the end of the label's line, such as a counter. */
  readonly aside?: ReactNode;
  readonly children: (control: ControlProps) => ReactNode;
}

export function Field({ label, hint, error, optional, aside, children }: FieldProps): ReactNode {
  const t = useWords();
  const id = useId();
  const described = [
    hint === undefined || hint === "" ? "" : `${id}-hint`,
    error === undefined ? "" : `${id}-error`,
  ];
  const describedBy = described.filter((part) => part !== "").join(" ");
  return (
    <div className={styles["field"]}>
      <div className={styles["labelRow"]}>
        <label htmlFor={id} className={styles["label"]}>
          {label} {optional === true && <span className={styles["optional"]}>{t.form.optional}</span>}
        </label>
        {aside}
      </div>
      {hint !== undefined && hint !== "" && (
        <div id={`${id}-hint`} className={styles["hint"]}>
          {hint}
        </div>
      )}
      {children({
        id,
        "aria-describedby": describedBy === "" ? undefined : describedBy,
        "aria-invalid": error === undefined ? undefined : true,
      })}
      {error !== undefined && <FieldError id={`${id}-error`}>{error}</FieldError>}
    </div>
  );
}

export function FieldError({
  id,
  children,
}: {
  readonly id?: string;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <p id={id} className={styles["error"]}>
      <Icon name="warning" size={15} />
      <span>{children}</span>
    </p>
  );
}
