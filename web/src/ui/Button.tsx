import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";
import styles from "./Button.module.css";
import { cx } from "./cx";
import { Icon, type IconName } from "./Icon";

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly look?: "primary" | "plain" | "quiet" | "danger";
  readonly icon?: IconName;
  readonly small?: boolean;
  readonly ref?: Ref<HTMLButtonElement>;
}

export function Button({
  look = "plain",
  icon,
  small,
  className,
  children,
  ...rest
}: ButtonProps): ReactNode {
  return (
    <button
      type="button"
      {...rest}
      className={cx(styles["button"], styles[look], small === true && styles["small"], className)}
    >
      {icon !== undefined && <Icon name={icon} size={small === true ? 15 : 17} />}
      {children}
    </button>
  );
}

interface IconButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "children"> {
  readonly icon: IconName;
  /** Read out, and shown on hover. */
  readonly label: string;
  readonly size?: number;
  readonly ref?: Ref<HTMLButtonElement>;
}

export function IconButton({ icon, label, size = 19, className, ...rest }: IconButtonProps): ReactNode {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      {...rest}
      className={cx(styles["icon"], className)}
    >
      <Icon name={icon} size={size} />
    </button>
  );
}
