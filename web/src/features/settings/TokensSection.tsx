import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { revokeToken, tokensQuery, type Token } from "~/api/tokens";
import { useLanguage } from "~/i18n/language";
import { ago, dayAndTime } from "~/lib/dates";
import { Button } from "~/ui/Button";
import { ConfirmDialog } from "~/ui/Dialog";
import { cx } from "~/ui/cx";
import { EmptyState } from "~/ui/EmptyState";
import { ErrorNotice } from "~/ui/ErrorNotice";
import { Icon } from "~/ui/Icon";
import { Skeleton } from "~/ui/Skeleton";
import { Section } from "./Section";
import styles from "./Settings.module.css";
import { TokenDialog } from "./TokenDialog";

export function TokensSection(): ReactNode {
  const { words: t } = useLanguage();
  const tokens = useQuery(tokensQuery);
  const [making, setMaking] = useState(false);
  const make = (
    <Button look="primary" icon="add" onClick={() => setMaking(true)}>
      {t.settings.newToken}
    </Button>
  );
  const none = tokens.data?.length === 0;
  return (
    <Section title={t.settings.tokens} lead={t.settings.tokensLead} action={none ? undefined : make}>
      {tokens.isPending ? (
        <Skeleton rows={2} />
      ) : tokens.isError ? (
        <ErrorNotice error={tokens.error} onRetry={() => void tokens.refetch()} />
      ) : none ? (
        <div className={styles["list"]}>
          <EmptyState icon="key" title={t.settings.noTokens} action={make}>
            {t.settings.noTokensText}
          </EmptyState>
        </div>
      ) : (
        <ul className={styles["list"]}>
          {tokens.data.map((token) => (
            <TokenRow key={token.id} token={token} />
          ))}
        </ul>
      )}
      {making && <TokenDialog onClose={() => setMaking(false)} />}
    </Section>
  );
}

function TokenRow({ token }: { readonly token: Token }): ReactNode {
  const { words: t, tag } = useLanguage();
  const queries = useQueryClient();
  const [asking, setAsking] = useState(false);
  const [isExpired] = useState(() => new Date(token.expires_at).getTime() < Date.now());
  const revoke = useMutation({
    mutationFn: () => revokeToken(token.id),
    onSuccess: async () => {
      setAsking(false);
      await queries.invalidateQueries({ queryKey: ["tokens"] });
    },
  });
  return (
    <li className={styles["row"]}>
      <Icon name="key" size={20} />
      <div className={styles["rowText"]}>
        <p className={styles["rowTitle"]}>
          {token.name}
          <span className={cx(styles["rowNote"], styles["code"])}>…{token.hint}</span>
          {isExpired && <span className={cx(styles["badge"], styles["warn"])}>{t.settings.expired}</span>}
        </p>
        <p className={styles["rowNote"]}>
          {token.last_used_at === null
            ? t.settings.neverUsed
            : t.settings.lastUsed(ago(tag, token.last_used_at))}
          {" · "}
          <time dateTime={token.expires_at} title={dayAndTime(tag, token.expires_at)}>
            {isExpired
              ? t.settings.expiredAt(ago(tag, token.expires_at))
              : t.settings.expiresAt(ago(tag, token.expires_at))}
          </time>
        </p>
        <p className={cx(styles["rowNote"], styles["code"])}>{token.scopes.join("  ")}</p>
      </div>
      <Button small aria-label={t.settings.revokeOf(token.name)} onClick={() => setAsking(true)}>
        {t.settings.revoke}
      </Button>
      {asking && (
        <ConfirmDialog
          title={t.settings.revokeOf(token.name)}
          confirmLabel={t.settings.revoke}
          busy={revoke.isPending}
          onConfirm={() => revoke.mutate()}
          onClose={() => setAsking(false)}
        >
          <p>{t.settings.revokeText}</p>
          {revoke.error !== null && <ErrorNotice error={revoke.error} />}
        </ConfirmDialog>
      )}
    </li>
  );
}
