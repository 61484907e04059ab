import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useRouter, useSearch } from "@tanstack/react-router";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { setupQuery, signIn } from "~/api/account";
import { ApiError } from "~/api/errors";
import { meQuery } from "~/api/me";
import { useWords } from "~/i18n/language";
import { Button } from "~/ui/Button";
import { ErrorNotice } from "~/ui/ErrorNotice";
import { Notice } from "~/ui/Notice";
import { PasswordField, TextField } from "~/ui/form/controls";
import form from "~/ui/form/Form.module.css";
import { Frame } from "./Frame";
import styles from "./Frame.module.css";
import { useWait, waitOf } from "./useWait";

export function SignInPage(): ReactNode {
  const t = useWords();
  const { next } = useSearch({ from: "/signin" });
  const queries = useQueryClient();
  const router = useRouter();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const passwordBox = useRef<HTMLInputElement>(null);
  const first = useRef<HTMLInputElement>(null);
  const wait = useWait();
  const setup = useQuery({ ...setupQuery, retry: false });

  useEffect(() => first.current?.focus(), []);

  const submit = useMutation({
    mutationFn: signIn,
    onSuccess: (me) => {
      queries.clear();
      queries.setQueryData(meQuery.queryKey, me);
      router.history.replace(next ?? "/");
    },
    onError: (error) => {
      wait.begin(waitOf(error));
      if (error instanceof ApiError && error.code === "LOGIN_FAILED") {
        setPassword("");
        passwordBox.current?.focus();
      }
    },
  });
  const isWaiting = waitOf(submit.error) > 0;

  return (
    <Frame
      title={t.account.signInTitle}
      lead={next === undefined ? t.account.signInLead : t.account.signInAgain}
    >
      {setup.data?.needed === true && (
        <Notice title={t.account.noAccountTitle}>
          <p>
            {t.account.noAccountText} <Link to="/setup">{t.account.toSetup}</Link>
          </p>
        </Notice>
      )}
      <form
        className={form["form"]}
        onSubmit={(event) => {
          event.preventDefault();
          if (!submit.isPending && wait.left === 0) submit.mutate({ email, password });
        }}
      >
        {isWaiting ? (
          wait.left > 0 && (
            <Notice tone="warning" icon="clock" role="alert" title={t.account.tooManyTitle}>
              {/* The seconds change under the eyes; read out once is enough. */}
              <p aria-live="off">{t.account.tooMany(wait.left)}</p>
            </Notice>
          )
        ) : (
          <>{submit.error !== null && <ErrorNotice error={submit.error} />}</>
        )}
        <TextField
          ref={first}
          label={t.account.email}
          type="email"
          name="email"
          autoComplete="username"
          inputMode="email"
          autoCapitalize="none"
          spellCheck={false}
          required
          maxLength={254}
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        <PasswordField
          ref={passwordBox}
          label={t.account.password}
          name="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        <Button
          look="primary"
          type="submit"
          className={styles["submit"]}
          disabled={submit.isPending || wait.left > 0}
        >
          {submit.isPending
            ? t.account.signingIn
            : wait.left > 0
              ? t.account.waitButton(wait.left)
              : t.account.signIn}
        </Button>
      </form>
    </Frame>
  );
}
