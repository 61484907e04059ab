import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { changePassword } from "~/api/account";
import { meQuery } from "~/api/me";
import { useWords } from "~/i18n/language";
import { Button } from "~/ui/Button";
import { cx } from "~/ui/cx";
import { ErrorNotice } from "~/ui/ErrorNotice";
import { PasswordField } from "~/ui/form/controls";
import form from "~/ui/form/Form.module.css";
import { NewPasswordField } from "~/ui/form/NewPasswordField";
import { strengthOf } from "~/ui/form/strength";
import { Notice } from "~/ui/Notice";
import { Section } from "./Section";
import styles from "./Settings.module.css";
import { isWrongPassword } from "./wrongPassword";

export function AccountSection(): ReactNode {
  const t = useWords();
  const { data: me } = useSuspenseQuery(meQuery);
  return (
    <>
      <Section title={t.settings.account}>
        <div className={styles["person"]}>
          <span className={styles["avatar"]} aria-hidden="true">
            {me.user.email.charAt(0).toUpperCase()}
          </span>
          <div>
            <p className={styles["rowTitle"]}>{me.user.email}</p>
            <p className={styles["rowNote"]}>
              {me.user.is_operator ? t.settings.operator : t.settings.member} · Deskmate {me.version}
            </p>
          </div>
        </div>
      </Section>
      <Section title={t.settings.passwordTitle} lead={t.settings.passwordLead}>
        <PasswordForm />
      </Section>
    </>
  );
}

function PasswordForm(): ReactNode {
  const t = useWords();
  const queries = useQueryClient();
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const [tried, setTried] = useState(false);
  const change = useMutation({
    mutationFn: changePassword,
    onSuccess: () => {
      setCurrent("");
      setNext("");
      setTried(false);
      void queries.invalidateQueries({ queryKey: ["devices"] });
    },
  });
  const wrong = isWrongPassword(change.error);
  const short = strengthOf(next) === "short";
  return (
    <form
      className={cx(form["form"], styles["narrow"])}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        setTried(true);
        if (current !== "" && !short && !change.isPending) change.mutate({ current, new: next });
      }}
    >
      {change.isSuccess && (
        <Notice tone="success" role="status">
          {t.settings.passwordChanged}
        </Notice>
      )}
      {change.error !== null && !wrong && <ErrorNotice error={change.error} />}
      <PasswordField
        label={t.settings.currentPassword}
        name="current-password"
        autoComplete="current-password"
        required
        value={current}
        error={wrong ? t.settings.wrongPassword : tried && current === "" ? t.form.required : undefined}
        onChange={(event) => {
          setCurrent(event.currentTarget.value);
          if (wrong || change.isSuccess) change.reset();
        }}
      />
      <NewPasswordField
        label={t.settings.newPassword}
        value={next}
        error={tried && short ? t.form.strength.short : undefined}
        onChange={setNext}
      />
      <div className={form["actions"]}>
        <Button look="primary" type="submit" disabled={change.isPending}>
          {t.settings.changePassword}
        </Button>
      </div>
    </form>
  );
}
