import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useId, useState, type ReactNode } from "react";
import { createToken, scopesQuery } from "~/api/tokens";
import { packageText } from "~/i18n/capabilities";
import { useLanguage } from "~/i18n/language";
import { Button } from "~/ui/Button";
import { CopyButton } from "~/ui/CopyButton";
import { Dialog } from "~/ui/Dialog";
import { ErrorNotice } from "~/ui/ErrorNotice";
import { CheckField, PasswordField, SelectField, TextField } from "~/ui/form/controls";
import { FieldError } from "~/ui/form/Field";
import form from "~/ui/form/Form.module.css";
import { Notice } from "~/ui/Notice";
import { Skeleton } from "~/ui/Skeleton";
import { isWrongPassword } from "./wrongPassword";
import { chosenScopes, forChat, grouped, type Grouped, type Level, type ScopeGroup } from "./scopes";
import styles from "./Settings.module.css";

const DAYS = [7, 30, 90, 180, 365] as const;

export function TokenDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const { words: t } = useLanguage();
  const scopes = useQuery(scopesQuery);
  const [made, setMade] = useState<string | null>(null);
  return (
    <Dialog title={made === null ? t.settings.newToken : t.settings.tokenMade} wide onClose={onClose}>
      {made !== null ? (
        <Made token={made} onClose={onClose} />
      ) : scopes.isPending ? (
        <Skeleton rows={4} />
      ) : scopes.isError ? (
        <ErrorNotice error={scopes.error} onRetry={() => void scopes.refetch()} />
      ) : (
        <TokenForm offered={grouped(scopes.data)} onMade={setMade} />
      )}
    </Dialog>
  );
}

interface TokenFormProps {
  readonly offered: Grouped;
  readonly onMade: (token: string) => void;
}

function TokenForm({ offered, onMade }: TokenFormProps): ReactNode {
  const { words: t } = useLanguage();
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [days, setDays] = useState(90);
  const [levels, setLevels] = useState<Readonly<Record<string, Level>>>({});
  const [single, setSingle] = useState<ReadonlySet<string>>(new Set());
  const [password, setPassword] = useState("");
  const [tried, setTried] = useState(false);
  const scopes = chosenScopes(levels, single);
  const make = useMutation({
    mutationFn: createToken,
    onSuccess: (answer) => {
      onMade(answer.token);
      void queries.invalidateQueries({ queryKey: ["tokens"] });
    },
  });
  const wrong = isWrongPassword(make.error);

  return (
    <form
      className={form["form"]}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        setTried(true);
        const ready = name.trim() !== "" && scopes.length > 0 && password !== "";
        if (ready && !make.isPending)
          make.mutate({ name: name.trim(), scopes, expires_days: days, password });
      }}
    >
      <TextField
        data-first-focus
        label={t.settings.tokenName}
        hint={t.settings.tokenNameHint}
        maxLength={100}
        required
        autoComplete="off"
        value={name}
        error={tried && name.trim() === "" ? t.form.required : undefined}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <fieldset className={form["field"]}>
        <div className={form["labelRow"]}>
          <legend className={form["label"]}>{t.settings.scopes}</legend>
          <Button small onClick={() => setLevels(forChat(offered))}>
            {t.settings.allForChat}
          </Button>
        </div>
        <p className={form["hint"]}>{t.settings.scopesHint}</p>
        {tried && scopes.length === 0 && <FieldError>{t.settings.scopesNeeded}</FieldError>}
        <div className={styles["scopes"]}>
          {offered.groups.map((group) => (
            <ScopeRow
              key={group.name}
              group={group}
              level={levels[group.name] ?? "none"}
              onChange={(level) => setLevels({ ...levels, [group.name]: level })}
            />
          ))}
          {offered.single.map((scope) => (
            <div key={scope} className={styles["scopeGroup"]}>
              <CheckField
                label={t.settings.scopeNames[scope] ?? scope}
                hint={t.settings.scopeNotes[scope]}
                checked={single.has(scope)}
                onChange={(checked) => {
                  const next = new Set(single);
                  if (checked) next.add(scope);
                  else next.delete(scope);
                  setSingle(next);
                }}
              />
            </div>
          ))}
        </div>
      </fieldset>
      <SelectField
        label={t.settings.expiry}
        value={String(days)}
        onChange={(event) => setDays(Number(event.currentTarget.value))}
      >
        {DAYS.map((count) => (
          <option key={count} value={count}>
            {t.settings.days(count)}
          </option>
        ))}
      </SelectField>
      <PasswordField
        label={t.settings.currentPassword}
        hint={t.settings.tokenPasswordHint}
        name="current-password"
        autoComplete="current-password"
        required
        value={password}
        error={wrong ? t.settings.wrongPassword : tried && password === "" ? t.form.required : undefined}
        onChange={(event) => {
          setPassword(event.currentTarget.value);
          if (wrong) make.reset();
        }}
      />
      {make.error !== null && !wrong && <ErrorNotice error={make.error} />}
      <div className={form["actions"]}>
        <Button look="primary" type="submit" disabled={make.isPending}>
          {t.settings.makeToken}
        </Button>
      </div>
    </form>
  );
}

interface ScopeRowProps {
  readonly group: ScopeGroup;
  readonly level: Level;
  readonly onChange: (level: Level) => void;
}

function ScopeRow({ group, level, onChange }: ScopeRowProps): ReactNode {
  const { words: t, language } = useLanguage();
  const id = useId();
  const core = t.settings.scopeNames[group.name];
  const text =
    core === undefined
      ? packageText(language, group.name, { title: t.settings.packageScope(group.name), description: "" })
      : { title: core, description: t.settings.scopeNotes[group.name] ?? "" };
  return (
    <div className={styles["scopeGroup"]}>
      <div>
        <label htmlFor={id} className={styles["scopeName"]}>
          {text.title}
        </label>
        <p id={`${id}-note`} className={styles["scopeNote"]}>
          {text.description}
        </p>
      </div>
      <div className={form["select"]}>
        <select
          id={id}
          aria-describedby={`${id}-note`}
          className={form["input"]}
          value={level}
          onChange={(event) => onChange(event.currentTarget.value as Level)}
        >
          <option value="none">{t.settings.levels.none}</option>
          {group.canRead && <option value="read">{t.settings.levels.read}</option>}
          {group.canWrite && <option value="write">{t.settings.levels.write}</option>}
        </select>
      </div>
    </div>
  );
}

function Made({ token, onClose }: { readonly token: string; readonly onClose: () => void }): ReactNode {
  const { words: t } = useLanguage();
  const lines = `export DESKMATE_BASE_URL=${location.origin} DESKMATE_TOKEN=${token}\ndeskmate chat`;
  return (
    <div className={styles["secret"]}>
      <Notice tone="warning" icon="key" role="status">
        <p>{t.settings.onceOnly}</p>
      </Notice>
      <div className={styles["secretLine"]}>
        <code data-testid="token">{token}</code>
        <CopyButton text={token} />
      </div>
      <p className={form["hint"]}>{t.settings.chatLines}</p>
      <div className={styles["secretLine"]}>
        <pre>{lines}</pre>
        <CopyButton text={lines} />
      </div>
      <div className={form["actions"]}>
        <Button look="primary" onClick={onClose}>
          {t.settings.stored}
        </Button>
      </div>
    </div>
  );
}
