import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useRouter } from "@tanstack/react-router";
import { useEffect, useState, type ReactNode } from "react";
import { setUp, setupQuery } from "~/api/account";
import { meQuery } from "~/api/me";
import { useWords } from "~/i18n/language";
import { Button } from "~/ui/Button";
import { ErrorNotice } from "~/ui/ErrorNotice";
import { Notice } from "~/ui/Notice";
import { Skeleton } from "~/ui/Skeleton";
import { TextField } from "~/ui/form/controls";
import form from "~/ui/form/Form.module.css";
import { NewPasswordField } from "~/ui/form/NewPasswordField";
import { strengthOf } from "~/ui/form/strength";
import { Frame } from "./Frame";
import styles from "./Frame.module.css";
import { takeTokenFromAddress, tokenIn } from "./setupToken";

export function SetupPage(): ReactNode {
  const t = useWords();
  const [opened] = useState(() => tokenIn(location.hash));
  useEffect(takeTokenFromAddress, []);
  const setup = useQuery(setupQuery);

  if (setup.isPending)
    return (
      <Frame title={t.account.setupTitle}>
        <Skeleton rows={2} />
      </Frame>
    );
  if (setup.isError)
    return (
      <Frame title={t.account.setupTitle}>
        <ErrorNotice error={setup.error} onRetry={() => void setup.refetch()} />
      </Frame>
    );
  if (!setup.data.needed)
    return (
      <Frame title={t.account.alreadyTitle} lead={t.account.alreadyText}>
        <Link to="/signin">{t.account.toSignIn}</Link>
      </Frame>
    );
  return (
    <Frame title={t.account.setupTitle} lead={t.account.setupLead}>
      <SetupForm opened={opened} />
    </Frame>
  );
}

function SetupForm({ opened }: { readonly opened: string }): ReactNode {
  const t = useWords();
  const queries = useQueryClient();
  const router = useRouter();
  const [pasted, setPasted] = useState("");
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [tried, setTried] = useState(false);
  const token = opened === "" ? tokenIn(pasted) : opened;
  const strength = strengthOf(password);
  const submit = useMutation({
    mutationFn: setUp,
    onSuccess: (me) => {
      queries.clear();
      queries.setQueryData(meQuery.queryKey, me);
      router.history.replace("/");
    },
  });

  return (
    <form
      className={form["form"]}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        setTried(true);
        const bad = token === "" || !isAddress(email) || strength === "short";
        if (!bad && !submit.isPending) submit.mutate({ token, email, password });
        // The first box that is marked wrong is where to go on.
        else
          requestAnimationFrame(
            () => event.target instanceof HTMLFormElement && focusFirstInvalid(event.target),
          );
      }}
    >
      {submit.error !== null && <ErrorNotice error={submit.error} />}
      {opened === "" && (
        <>
          <Notice title={t.account.noTokenTitle}>
            <p>{t.account.noTokenText}</p>
          </Notice>
          <TextField
            label={t.account.setupLink}
            name="setup-link"
            autoComplete="off"
            spellCheck={false}
            value={pasted}
            error={tried && token === "" ? t.account.setupLinkNeeded : undefined}
            onChange={(event) => setPasted(event.currentTarget.value)}
          />
        </>
      )}
      <TextField
        label={t.account.email}
        hint={t.account.emailHint}
        type="email"
        name="email"
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={254}
        required
        value={email}
        error={tried && !isAddress(email) ? t.account.emailNeeded : undefined}
        onChange={(event) => setEmail(event.currentTarget.value)}
      />
      <NewPasswordField
        label={t.account.password}
        value={password}
        error={tried && strength === "short" ? t.form.strength.short : undefined}
        onChange={setPassword}
      />
      <Button look="primary" type="submit" className={styles["submit"]} disabled={submit.isPending}>
        {submit.isPending ? t.account.creating : t.account.create}
      </Button>
    </form>
  );
}

/** The server has the last word; this only spares a round trip. */
function isAddress(text: string): boolean {
  return /^[^\s@]+@[^\s@]+$/.test(text.trim());
}

function focusFirstInvalid(within: HTMLFormElement): void {
  within.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
}
