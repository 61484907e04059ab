import { infiniteQueryOptions, useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { readAudit, type AuditEntry } from "~/api/audit";
import { useLanguage } from "~/i18n/language";
import { day, dayAndTime, time } from "~/lib/dates";
import { Button } from "~/ui/Button";
import { cx } from "~/ui/cx";
import { EmptyState } from "~/ui/EmptyState";
import { errorSentence, ErrorNotice } from "~/ui/ErrorNotice";
import form from "~/ui/form/Form.module.css";
import { Icon } from "~/ui/Icon";
import { PageBody } from "~/ui/PageBody";
import { Skeleton } from "~/ui/Skeleton";
import styles from "./Audit.module.css";
import { isFiltered, KINDS, OUTCOMES, WHOS, type Filter } from "./filter";
import { byDay, outcomeLook, sentence } from "./sentence";

function auditQuery(filter: Filter) {
  return infiniteQueryOptions({
    queryKey: ["audit", filter],
    queryFn: ({ pageParam, signal }) =>
      readAudit({ action: filter.kind, outcome: filter.outcome, initiator: filter.who }, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });
}

export function AuditPage(): ReactNode {
  const { words: t, tag } = useLanguage();
  const filter: Filter = useSearch({ from: "/shell/audit" });
  const navigate = useNavigate();
  const found = useInfiniteQuery(auditQuery(filter));
  const setFilter = (next: Filter): void => void navigate({ to: "/audit", search: next, replace: true });
  const entries = found.data?.pages.flatMap((page) => page.entries) ?? [];
  return (
    <PageBody title={t.common.audit} wide>
      <p className={styles["lead"]}>{t.audit.lead}</p>
      <search className={styles["filters"]}>
        <Choice
          label={t.audit.kind}
          all={t.audit.allKinds}
          options={KINDS.map((value) => ({ value, label: t.audit.kinds[value] }))}
          value={filter.kind}
          onChange={(kind) => setFilter({ ...filter, kind })}
        />
        <Choice
          label={t.audit.who}
          all={t.audit.allWho}
          options={WHOS.map((value) => ({ value, label: t.audit.whos[value] }))}
          value={filter.who}
          onChange={(who) => setFilter({ ...filter, who })}
        />
        <Choice
          label={t.audit.outcome}
          all={t.audit.allOutcomes}
          options={OUTCOMES.map((value) => ({ value, label: t.audit.outcomes[value] }))}
          value={filter.outcome}
          onChange={(outcome) => setFilter({ ...filter, outcome })}
        />
      </search>
      {found.isPending ? (
        <Skeleton rows={6} />
      ) : found.data === undefined ? (
        <ErrorNotice error={found.error} onRetry={() => void found.refetch()} />
      ) : entries.length === 0 ? (
        isFiltered(filter) ? (
          <EmptyState
            icon="search"
            title={t.audit.noMatch}
            action={<Button onClick={() => setFilter({})}>{t.mistakes.clear}</Button>}
          />
        ) : (
          <EmptyState icon="log" title={t.audit.emptyTitle}>
            {t.audit.emptyText}
          </EmptyState>
        )
      ) : (
        <div className={styles["days"]}>
          {byDay(entries).map((group) => (
            <section key={group.key} aria-labelledby={`day-${group.key}`}>
              <h2 id={`day-${group.key}`} className={styles["day"]}>
                {day(tag, group.key)}
              </h2>
              <ul className={styles["list"]}>
                {group.entries.map((entry) => (
                  <Row key={entry.id} entry={entry} />
                ))}
              </ul>
            </section>
          ))}
          {found.isFetchNextPageError && (
            <ErrorNotice error={found.error} onRetry={() => void found.fetchNextPage()} />
          )}
          {found.hasNextPage && (
            <Button
              className={styles["more"]}
              disabled={found.isFetchingNextPage}
              onClick={() => void found.fetchNextPage()}
            >
              {found.isFetchingNextPage ? t.states.loadingMore : t.states.loadMore}
            </Button>
          )}
        </div>
      )}
    </PageBody>
  );
}

function Row({ entry }: { readonly entry: AuditEntry }): ReactNode {
  const { words: t, language, tag } = useLanguage();
  const look = outcomeLook(entry.outcome);
  const outcomes: Readonly<Record<string, string>> = t.audit.outcomes;
  return (
    <li>
      <details className={styles["row"]}>
        <summary>
          <time dateTime={entry.at} className={styles["time"]}>
            {time(tag, entry.at)}
          </time>
          <span className={cx(styles["mark"], styles[look])}>
            <Icon name={look === "good" ? "check" : look === "bad" ? "close" : "info"} size={14} />
          </span>
          <span className={styles["sentence"]}>
            {sentence(t, language, entry)}
            {look !== "good" && (
              <span className={cx(styles["outcome"], styles[look])}>
                {outcomes[entry.outcome] ?? entry.outcome}
                {entry.error_code !== null && ` · ${errorSentence(t, entry.error_code, entry.error_code)}`}
              </span>
            )}
          </span>
          <Icon name="chevronDown" size={16} />
        </summary>
        <dl className={styles["details"]}>
          <Detail name={t.audit.fields.at} value={dayAndTime(tag, entry.at)} />
          <Detail name={t.audit.fields.action} value={entry.action} />
          <Detail name={t.audit.fields.target} value={entry.target} />
          <Detail
            name={t.audit.fields.caller}
            value={t.audit.callers[entry.caller_kind] ?? entry.caller_kind}
          />
          <Detail name={t.audit.fields.version} value={entry.version} />
          <Detail name={t.audit.fields.outcome} value={entry.error_code ?? entry.outcome} />
          <Detail
            name={t.audit.fields.duration}
            value={entry.duration_ms > 0 ? t.audit.milliseconds(entry.duration_ms) : ""}
          />
          <Detail name={t.audit.fields.token} value={entry.token_id ?? ""} />
          <Detail name={t.audit.fields.digest} value={entry.arguments_digest ?? ""} />
          {entry.session_id !== null && entry.session_id !== "" && (
            <div>
              <dt>{t.audit.fields.session}</dt>
              <dd>
                <Link to="/s/$sessionId" params={{ sessionId: entry.session_id }}>
                  {t.audit.openSession}
                </Link>
              </dd>
            </div>
          )}
        </dl>
      </details>
    </li>
  );
}

function Detail({ name, value }: { readonly name: string; readonly value: string }): ReactNode {
  if (value === "") return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

interface ChoiceProps<V extends string> {
  readonly label: string;
  readonly all: string;
  readonly options: readonly { readonly value: V; readonly label: string }[];
  readonly value: V | undefined;
  readonly onChange: (value: V | undefined) => void;
}

function Choice<V extends string>({ label, all, options, value, onChange }: ChoiceProps<V>): ReactNode {
  return (
    <div className={form["select"]}>
      <select
        className={form["input"]}
        aria-label={label}
        value={value ?? ""}
        onChange={(event) => {
          const chosen = event.currentTarget.value;
          onChange(options.find((option) => option.value === chosen)?.value);
        }}
      >
        <option value="">{all}</option>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
      <Icon name="chevronDown" size={16} />
    </div>
  );
}
