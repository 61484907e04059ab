import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useRef, useState, type ReactNode } from "react";
import { commandsQuery } from "~/api/commands";
import { useWords } from "~/i18n/language";
import { Button } from "~/ui/Button";
import { EmptyState } from "~/ui/EmptyState";
import { ErrorNotice } from "~/ui/ErrorNotice";
import { PageBody } from "~/ui/PageBody";
import { Skeleton } from "~/ui/Skeleton";
import { ApiError } from "~/api/errors";
import { EntryCard } from "./EntryCard";
import { EntryDialog } from "./EntryDialog";
import { entriesQuery, isFiltered, type Entry, type Filter } from "./entries";
import { ExportDialog } from "./ExportDialog";
import { Filters } from "./Filters";
import styles from "./Mistakes.module.css";
import { RemoveFlow, type Removal } from "./RemoveFlow";

type Open =
  | { readonly kind: "add" }
  | { readonly kind: "edit"; readonly entry: Entry }
  | { readonly kind: "export" }
  | { readonly kind: "removal"; readonly removal: Removal };

export function MistakesPage(): ReactNode {
  const t = useWords();
  const filter: Filter = useSearch({ from: "/shell/mistakes" });
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [open, setOpen] = useState<Open | null>(null);
  const commands = useQuery(commandsQuery);
  const found = useInfiniteQuery(entriesQuery(filter));
  const count = useRef<HTMLParagraphElement>(null);
  const close = useCallback(() => setOpen(null), []);
  const entries = found.data?.pages.flatMap((page) => page.entries) ?? [];
  const offers = (id: string): boolean => commands.data?.some((command) => command.id === id) === true;

  const setFilter = useCallback(
    (next: Filter) => void navigate({ to: "/mistakes", search: next, replace: true }),
    [navigate],
  );

  return (
    <PageBody
      title={t.common.mistakes}
      actions={
        <>
          {offers("mistakes::export") && (
            <Button look="quiet" icon="download" onClick={() => setOpen({ kind: "export" })}>
              {t.mistakes.export}
            </Button>
          )}
          {offers("mistakes::add") && (
            <Button look="primary" icon="add" onClick={() => setOpen({ kind: "add" })}>
              {t.mistakes.add}
            </Button>
          )}
        </>
      }
    >
      {isSwitchedOff(found.error) ? (
        <EmptyState
          icon="package"
          title={t.mistakes.offTitle}
          action={
            <Link to="/settings/$section" params={{ section: "packages" }}>
              {t.mistakes.offAction}
            </Link>
          }
        >
          {t.mistakes.offText}
        </EmptyState>
      ) : (
        <>
          <Filters filter={filter} onChange={setFilter} />
          {found.isPending ? (
            <Skeleton rows={3} look="card" />
          ) : found.data === undefined ? (
            <ErrorNotice error={found.error} onRetry={() => void found.refetch()} />
          ) : entries.length === 0 ? (
            <Nothing
              filter={filter}
              onClear={() => setFilter(filter.archived === true ? { archived: true } : {})}
              onAdd={() => setOpen({ kind: "add" })}
            />
          ) : (
            <div className={styles["results"]} aria-busy={found.isFetching}>
              <p ref={count} tabIndex={-1} role="status" className={styles["count"]}>
                {t.mistakes.count(entries.length, found.hasNextPage)}
              </p>
              <ul className={styles["entries"]}>
                {entries.map((entry) => (
                  <li key={entry.id}>
                    <EntryCard
                      entry={entry}
                      onTag={(tag) => setFilter({ ...filter, tag })}
                      onSubject={(subject) => setFilter({ ...filter, subject })}
                      onEdit={() => setOpen({ kind: "edit", entry })}
                      onRemoval={(kind) => setOpen({ kind: "removal", removal: { kind, entry } })}
                    />
                  </li>
                ))}
              </ul>
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
        </>
      )}
      {open?.kind === "add" && <EntryDialog entry={null} onClose={close} />}
      {open?.kind === "edit" && <EntryDialog key={open.entry.id} entry={open.entry} onClose={close} />}
      {open?.kind === "export" && <ExportDialog onClose={close} />}
      {open?.kind === "removal" && (
        <RemoveFlow
          removal={open.removal}
          onDone={() => {
            void queries.invalidateQueries({ queryKey: ["mistakes"] });
            // The card with the button is going; the list's own line is where to go on.
            requestAnimationFrame(() => count.current?.focus());
          }}
          onClose={close}
        />
      )}
    </PageBody>
  );
}

function isSwitchedOff(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    ["PACKAGE_DISABLED", "TOOL_NOT_FOUND", "TOOL_FORBIDDEN", "NOT_FOUND"].includes(error.code)
  );
}

interface NothingProps {
  readonly filter: Filter;
  readonly onClear: () => void;
  readonly onAdd: () => void;
}

function Nothing({ filter, onClear, onAdd }: NothingProps): ReactNode {
  const t = useWords();
  if (isFiltered(filter))
    return (
      <EmptyState
        icon="search"
        title={t.mistakes.noMatchTitle}
        action={<Button onClick={onClear}>{t.mistakes.clear}</Button>}
      >
        {t.mistakes.noMatchText}
      </EmptyState>
    );
  if (filter.archived === true)
    return (
      <EmptyState icon="archive" title={t.mistakes.noArchiveTitle}>
        {t.mistakes.noArchiveText}
      </EmptyState>
    );
  return (
    <EmptyState
      icon="book"
      title={t.mistakes.emptyTitle}
      action={
        <>
          <Button look="primary" icon="add" onClick={onAdd}>
            {t.mistakes.addFirst}
          </Button>
          <Link to="/">{t.mistakes.askInstead}</Link>
        </>
      }
    >
      {t.mistakes.emptyText}
    </EmptyState>
  );
}
