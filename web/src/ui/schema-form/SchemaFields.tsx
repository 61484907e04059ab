import type { ReactNode } from "react";
import { fieldHint, fieldLabel } from "~/i18n/capabilities";
import { useLanguage } from "~/i18n/language";
import { CheckField, SelectField, TagsField, TextAreaField, TextField } from "../form/controls";
import { faultSentence } from "./faultSentence";
import type { FormField } from "./fields";
import type { Fault, Faults, FieldValue, FormValues } from "./values";

interface SchemaFieldsProps {
  /** Whose parameters these are, to find words in the user's language. */
  readonly entry: string;
  readonly fields: readonly FormField[];
  readonly values: FormValues;
  readonly faults: Faults;
  readonly onChange: (name: string, value: FieldValue) => void;
}

/** The controls of an entry's parameters; the form around them belongs to the page. */
export function SchemaFields({ entry, fields, values, faults, onChange }: SchemaFieldsProps): ReactNode {
  return fields.map((field) => (
    <SchemaField
      key={field.name}
      entry={entry}
      field={field}
      value={values[field.name]}
      fault={faults[field.name]}
      onChange={(value) => onChange(field.name, value)}
    />
  ));
}

interface SchemaFieldProps {
  readonly entry: string;
  readonly field: FormField;
  readonly value: FieldValue | undefined;
  readonly fault: Fault | undefined;
  readonly onChange: (value: FieldValue) => void;
}

function SchemaField({ entry, field, value, fault, onChange }: SchemaFieldProps): ReactNode {
  const { words: t, language } = useLanguage();
  const { control } = field;
  const label = fieldLabel(language, entry, field.name, field.title);
  const hint = fieldHint(language, entry, field.name, field.description);
  const text = typeof value === "string" ? value : "";
  const shared = {
    label,
    hint,
    error: faultSentence(t, fault),
    optional: !field.isRequired,
    name: field.name,
  };
  switch (control.kind) {
    case "text": {
      const props = {
        ...shared,
        value: text,
        required: field.isRequired,
        autoComplete: "off",
        onChange: (event: { readonly currentTarget: { readonly value: string } }) =>
          onChange(event.currentTarget.value),
      };
      return control.isLong ? <TextAreaField {...props} rows={2} /> : <TextField {...props} />;
    }
    case "number":
      return (
        <TextField
          {...shared}
          value={text}
          required={field.isRequired}
          inputMode={control.isWhole ? "numeric" : "decimal"}
          autoComplete="off"
          hint={hint ?? rangeHint()}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      );
    case "switch":
      return <CheckField label={label} hint={hint} checked={value === true} onChange={onChange} />;
    case "choice":
      return (
        <SelectField
          {...shared}
          value={text}
          required={field.isRequired}
          onChange={(event) => onChange(event.currentTarget.value)}
        >
          {(!field.isRequired || text === "") && (
            <option value="">{field.isRequired ? "" : t.form.chooseNothing}</option>
          )}
          {control.options.map((option) => (
            <option key={JSON.stringify(option)} value={JSON.stringify(option)}>
              {optionText(option)}
            </option>
          ))}
        </SelectField>
      );
    case "words":
      return (
        <TagsField
          label={label}
          hint={hint}
          error={shared.error}
          optional={shared.optional}
          value={Array.isArray(value) ? (value as readonly string[]) : []}
          maxItems={control.maxItems}
          maxLength={control.itemMaxLength}
          onChange={onChange}
        />
      );
    case "json":
      return (
        <TextAreaField
          {...shared}
          value={text}
          spellCheck={false}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      );
  }

  function rangeHint(): string | undefined {
    if (control.kind !== "number" || control.minimum === undefined || control.maximum === undefined)
      return undefined;
    return t.form.range(control.minimum, control.maximum);
  }

  function optionText(option: unknown): string {
    if (option === true) return t.form.yes;
    if (option === false) return t.form.no;
    return typeof option === "string" ? option : JSON.stringify(option);
  }
}
