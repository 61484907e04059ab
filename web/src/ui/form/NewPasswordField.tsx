import type { ReactNode } from "react";
import { useWords } from "~/i18n/language";
import { cx } from "../cx";
import { PasswordField } from "./controls";
import styles from "./Form.module.css";
import { MIN_PASSWORD, strengthOf, type Strength } from "./strength";

const BARS: Record<Strength, { readonly filled: number; readonly look: "weak" | "fair" | "good" }> = {
  short: { filled: 1, look: "weak" },
  common: { filled: 1, look: "weak" },
  weak: { filled: 1, look: "weak" },
  fair: { filled: 2, look: "fair" },
  good: { filled: 3, look: "good" },
  strong: { filled: 4, look: "good" },
};

interface NewPasswordFieldProps {
  readonly label: string;
  readonly value: string;
  readonly error?: string | undefined;
  readonly onChange: (value: string) => void;
}

/** A password that is being chosen, with a word on how good it is. */
export function NewPasswordField({ label, value, error, onChange }: NewPasswordFieldProps): ReactNode {
  const t = useWords();
  const strength = strengthOf(value);
  const { filled, look } = BARS[strength];
  return (
    <div className={styles["field"]}>
      <PasswordField
        label={label}
        name="new-password"
        autoComplete="new-password"
        required
        minLength={MIN_PASSWORD}
        maxLength={1024}
        value={value}
        error={error}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      <div className={styles["strength"]} aria-live="polite">
        <span className={styles["bars"]} aria-hidden="true">
          {[0, 1, 2, 3].map((bar) => (
            <i key={bar} className={cx(value !== "" && bar < filled && styles[look])} />
          ))}
        </span>
        {value === "" ? t.form.passwordAdvice : t.form.strength[strength]}
      </div>
    </div>
  );
}
