import {
  useId,
  useRef,
  useState,
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
} from "react";
import { useWords } from "~/i18n/language";
import { cx } from "../cx";
import { Icon, type IconName } from "../Icon";
import { Field, type ControlProps } from "./Field";
import styles from "./Form.module.css";

interface Described {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
  readonly optional?: boolean | undefined;
  readonly aside?: ReactNode;
}

type Without<T> = Omit<T, "id" | "aria-describedby" | "aria-invalid" | "className">;

interface TextFieldProps extends Described, Without<InputHTMLAttributes<HTMLInputElement>> {
  readonly ref?: Ref<HTMLInputElement>;
}

export function TextField({ label, hint, error, optional, aside, ...rest }: TextFieldProps): ReactNode {
  return (
    <Field label={label} hint={hint} error={error} optional={optional} aside={aside}>
      {(control) => <input type="text" {...rest} {...control} className={styles["input"]} />}
    </Field>
  );
}

interface TextAreaFieldProps extends Described, Without<TextareaHTMLAttributes<HTMLTextAreaElement>> {
  readonly ref?: Ref<HTMLTextAreaElement>;
}

export function TextAreaField({
  label,
  hint,
  error,
  optional,
  aside,
  ...rest
}: TextAreaFieldProps): ReactNode {
  return (
    <Field label={label} hint={hint} error={error} optional={optional} aside={aside}>
      {(control) => <textarea rows={3} {...rest} {...control} className={styles["input"]} />}
    </Field>
  );
}

interface SelectFieldProps extends Described, Without<SelectHTMLAttributes<HTMLSelectElement>> {
  readonly children: ReactNode;
}

export function SelectField({
  label,
  hint,
  error,
  optional,
  aside,
  children,
  ...rest
}: SelectFieldProps): ReactNode {
  return (
    <Field label={label} hint={hint} error={error} optional={optional} aside={aside}>
      {(control) => (
        <div className={styles["select"]}>
          <select {...rest} {...control} className={styles["input"]}>
            {children}
          </select>
          <Icon name="chevronDown" size={16} />
        </div>
      )}
    </Field>
  );
}

/** A password that can be looked at while it is typed. */
export function PasswordField({ label, hint, error, optional, aside, ...rest }: TextFieldProps): ReactNode {
  const t = useWords();
  const [shown, setShown] = useState(false);
  return (
    <Field label={label} hint={hint} error={error} optional={optional} aside={aside}>
      {(control) => (
        <div className={styles["withButton"]}>
          <input
            {...rest}
            {...control}
            type={shown ? "text" : "password"}
            autoCapitalize="none"
            autoCorrect="off"
            spellCheck={false}
            className={styles["input"]}
          />
          <button
            type="button"
            className={styles["inside"]}
            aria-pressed={shown}
            aria-label={t.form.showPassword}
            onClick={() => setShown(!shown)}
          >
            {shown ? t.form.hide : t.form.show}
          </button>
        </div>
      )}
    </Field>
  );
}

interface CheckFieldProps {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  readonly checked: boolean;
  readonly disabled?: boolean;
  readonly onChange: (checked: boolean) => void;
}

export function CheckField({ label, hint, checked, disabled, onChange }: CheckFieldProps): ReactNode {
  const id = useId();
  return (
    <div className={styles["check"]}>
      <input
        id={id}
        type="checkbox"
        checked={checked}
        disabled={disabled}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span className={styles["checkText"]}>
        <label htmlFor={id}>{label}</label>
        {hint !== undefined && (
          <span id={`${id}-hint`} className={styles["hint"]}>
            {hint}
          </span>
        )}
      </span>
    </div>
  );
}

interface SwitchProps {
  readonly label: string;
  readonly checked: boolean;
  readonly disabled?: boolean;
  readonly describedBy?: string;
  readonly onChange: (checked: boolean) => void;
}

export function Switch({ label, checked, disabled, describedBy, onChange }: SwitchProps): ReactNode {
  return (
    <button
      type="button"
      role="switch"
      aria-checked={checked}
      aria-label={label}
      aria-describedby={describedBy}
      disabled={disabled}
      className={styles["switch"]}
      onClick={() => onChange(!checked)}
    />
  );
}

interface ChoiceFieldProps<V extends string> {
  readonly legend: string;
  readonly value: V;
  readonly options: readonly { readonly value: V; readonly label: string; readonly icon?: IconName }[];
  readonly onChange: (value: V) => void;
  readonly hint?: string;
  /** Language of each label where it is its own, such as the name of a language. */
  readonly langOf?: (value: V) => string | undefined;
}

/** Few choices, all in sight. */
export function ChoiceField<V extends string>({
  legend,
  value,
  options,
  onChange,
  hint,
  langOf,
}: ChoiceFieldProps<V>): ReactNode {
  const name = useId();
  return (
    <fieldset className={styles["field"]}>
      <legend className={styles["label"]}>{legend}</legend>
      {hint !== undefined && <p className={styles["hint"]}>{hint}</p>}
      <div className={styles["choices"]}>
        {options.map((option) => (
          <label key={option.value} className={styles["choice"]} lang={langOf?.(option.value)}>
            <input
              type="radio"
              name={name}
              value={option.value}
              checked={option.value === value}
              onChange={() => onChange(option.value)}
            />
            <span>
              {option.icon !== undefined && <Icon name={option.icon} size={17} />}
              {option.label}
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

interface TagsFieldProps extends Described {
  readonly value: readonly string[];
  readonly onChange: (value: readonly string[]) => void;
  readonly maxItems?: number | undefined;
  readonly maxLength?: number | undefined;
}

/** Short words, each ended by Enter or a comma; Backspace in the empty box takes the last one away. */
export function TagsField({ value, onChange, maxItems, maxLength, ...rest }: TagsFieldProps): ReactNode {
  return (
    <Field
      {...rest}
      aside={
        maxItems !== undefined && value.length > 0 ? (
          <span className={styles["optional"]}>
            {value.length}/{maxItems}
          </span>
        ) : undefined
      }
    >
      {(control) => (
        <TagsInput
          control={control}
          value={value}
          onChange={onChange}
          maxItems={maxItems}
          maxLength={maxLength}
        />
      )}
    </Field>
  );
}

interface TagsInputProps {
  readonly control: ControlProps;
  readonly value: readonly string[];
  readonly onChange: (value: readonly string[]) => void;
  readonly maxItems?: number | undefined;
  readonly maxLength?: number | undefined;
}

function TagsInput({ control, value, onChange, maxItems, maxLength }: TagsInputProps): ReactNode {
  const t = useWords();
  const [text, setText] = useState("");
  const input = useRef<HTMLInputElement>(null);
  const full = maxItems !== undefined && value.length >= maxItems;

  const take = (typed: string): void => {
    const added = typed
      .split(/[,，、;；\n]/)
      .map((tag) => tag.trim())
      .filter((tag) => tag !== "");
    const next = [...new Set([...value, ...added])];
    if (added.length > 0) onChange(maxItems === undefined ? next : next.slice(0, maxItems));
    setText("");
  };

  return (
    // A click beside the words goes to the box; the box itself is what the keyboard reaches.
    // eslint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-static-element-interactions
    <div
      className={cx(styles["input"], styles["chips"])}
      onClick={(event) => {
        if (event.target === event.currentTarget) input.current?.focus();
      }}
    >
      {value.map((tag) => (
        <span key={tag} className={styles["chip"]}>
          {tag}
          <button
            type="button"
            aria-label={t.form.removeTag(tag)}
            onClick={() => {
              onChange(value.filter((other) => other !== tag));
              input.current?.focus();
            }}
          >
            <Icon name="close" size={13} />
          </button>
        </span>
      ))}
      <input
        {...control}
        ref={input}
        type="text"
        value={text}
        disabled={full}
        maxLength={maxLength}
        placeholder={value.length === 0 ? t.form.tagsPlaceholder : ""}
        onChange={(event) => {
          const typed = event.currentTarget.value;
          const composing = (event.nativeEvent as InputEvent).isComposing;
          if (!composing && /[,，、;；\n]/.test(typed)) take(typed);
          else setText(typed);
        }}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing) return;
          if (event.key === "Enter" && text.trim() !== "") {
            event.preventDefault();
            take(text);
          } else if (event.key === "Backspace" && text === "" && value.length > 0) {
            onChange(value.slice(0, -1));
          }
        }}
        onBlur={() => take(text)}
      />
    </div>
  );
}
