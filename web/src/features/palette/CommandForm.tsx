import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { runCommand, type Command } from "~/api/commands";
import type { Confirmation } from "~/api/confirmations";
import { capabilityText } from "~/i18n/capabilities";
import { useLanguage } from "~/i18n/language";
import { useDraft } from "~/lib/draft";
import { Button, IconButton } from "~/ui/Button";
import { ConfirmationCard } from "~/ui/confirmation/ConfirmationCard";
import { useConfirmation } from "~/ui/confirmation/useConfirmation";
import { ErrorNotice } from "~/ui/ErrorNotice";
import form from "~/ui/form/Form.module.css";
import { JobCard } from "~/ui/JobCard";
import { Notice } from "~/ui/Notice";
import { ResultView } from "~/ui/ResultView";
import { fieldsOf } from "~/ui/schema-form/fields";
import { SchemaFields } from "~/ui/schema-form/SchemaFields";
import { serverFaults } from "~/ui/schema-form/serverFaults";
import { collect, initialValues, type Faults, type FormValues } from "~/ui/schema-form/values";
import { Skeleton } from "~/ui/Skeleton";
import styles from "./Palette.module.css";

interface CommandFormProps {
  readonly userId: string;
  readonly command: Command;
  readonly onBack: () => void;
  readonly onClose: () => void;
}

/** One entry: its parameters, then what came of it. */
export function CommandForm({ userId, command, onBack, onClose }: CommandFormProps): ReactNode {
  const { words: t, language } = useLanguage();
  const queries = useQueryClient();
  const params = useParams({ strict: false });
  const sessionId = (params as { readonly sessionId?: string }).sessionId;
  const fields = useMemo(() => fieldsOf(command.input_schema), [command]);
  const empty = useMemo((): FormValues => initialValues(fields), [fields]);
  const draft = useDraft<FormValues>(`${userId}.command.${command.id}`, empty);
  const [faults, setFaults] = useState<Faults>({});
  const element = useRef<HTMLFormElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const text = capabilityText(language, command.id, command);

  const run = useMutation({
    mutationFn: (values: Readonly<Record<string, unknown>>) =>
      runCommand<unknown>(command.id, values, sessionId === undefined ? {} : { sessionId }),
    onSuccess: (outcome) => {
      draft.drop();
      if (command.effect !== "read" && outcome.kind === "result") void queries.invalidateQueries();
      heading.current?.focus();
    },
    onError: (error) => setFaults(serverFaults(error, fields)),
  });

  useEffect(() => {
    const first = element.current?.querySelector<HTMLElement>("input, textarea, select");
    (first ?? heading.current)?.focus();
  }, []);

  const submit = (): void => {
    const { params: ready, faults: found } = collect(fields, draft.value);
    setFaults(found);
    if (Object.keys(found).length === 0) {
      if (!run.isPending) run.mutate(ready);
      return;
    }
    requestAnimationFrame(() =>
      element.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(),
    );
  };

  return (
    <>
      <header className={styles["formHeader"]}>
        <IconButton icon="chevronLeft" label={t.palette.back} onClick={onBack} />
        <h2 ref={heading} tabIndex={-1}>
          {text.title}
        </h2>
        <IconButton icon="close" label={t.common.close} onClick={onClose} />
      </header>
      <div className={styles["formBody"]}>
        {run.data === undefined ? (
          <form
            ref={element}
            className={form["form"]}
            noValidate
            onSubmit={(event) => {
              event.preventDefault();
              submit();
            }}
          >
            <p className={styles["formLead"]}>{text.description}</p>
            {draft.restored && (
              <Notice
                action={
                  <Button small onClick={draft.drop}>
                    {t.palette.discard}
                  </Button>
                }
              >
                {t.palette.kept}
              </Notice>
            )}
            {run.error !== null && <ErrorNotice title={t.palette.failed} error={run.error} />}
            <SchemaFields
              entry={command.id}
              fields={fields}
              values={{ ...empty, ...draft.value }}
              faults={faults}
              onChange={(name, value) => {
                draft.set({ ...draft.value, [name]: value });
                if (name in faults)
                  setFaults(Object.fromEntries(Object.entries(faults).filter(([other]) => other !== name)));
              }}
            />
            <div className={form["actions"]}>
              <Button look="primary" type="submit" disabled={run.isPending}>
                {run.isPending ? t.palette.running : t.palette.run}
              </Button>
            </div>
          </form>
        ) : run.data.kind === "confirmation" ? (
          <Asked id={run.data.confirmationId} command={command} onClose={onClose} />
        ) : (
          <Result command={command} result={run.data.result} onAgain={run.reset} onClose={onClose} />
        )}
      </div>
    </>
  );
}

interface AskedProps {
  readonly id: string;
  readonly command: Command;
  readonly onClose: () => void;
}

function Asked({ id, command, onClose }: AskedProps): ReactNode {
  const queries = useQueryClient();
  const { words: t } = useLanguage();
  const state = useConfirmation(id, (answer: Confirmation) => {
    if (answer.status === "approved") void queries.invalidateQueries();
  });
  if (state.confirmation === undefined)
    return state.loadError === null ? (
      <Skeleton rows={2} />
    ) : (
      <ErrorNotice error={state.loadError} onRetry={state.reload} />
    );
  const { status, result } = state.confirmation;
  return (
    <div className={form["form"]}>
      <ConfirmationCard
        bare
        confirmation={state.confirmation}
        deciding={state.deciding}
        error={state.decideError}
        onDecide={state.decide}
      />
      {status === "approved" && result !== undefined && result !== null && (
        <ResultView entry={command.id} value={result} />
      )}
      {status !== "pending" && (
        <div className={form["actions"]}>
          <Button onClick={onClose}>{t.common.close}</Button>
        </div>
      )}
    </div>
  );
}

interface ResultProps {
  readonly command: Command;
  readonly result: unknown;
  readonly onAgain: () => void;
  readonly onClose: () => void;
}

function Result({ command, result, onAgain, onClose }: ResultProps): ReactNode {
  const { words: t } = useLanguage();
  const jobId = typeof result === "object" && result !== null && "job_id" in result ? result.job_id : null;
  return (
    <div className={form["form"]}>
      {typeof jobId === "string" ? (
        <JobCard id={jobId} />
      ) : (
        <>
          {command.effect !== "read" && (
            <Notice tone="success" role="status">
              {t.palette.done}
            </Notice>
          )}
          <ResultView entry={command.id} value={result} />
        </>
      )}
      <div className={form["actions"]}>
        <Button look="primary" onClick={onClose}>
          {t.common.close}
        </Button>
        <Button onClick={onAgain}>{t.palette.again}</Button>
      </div>
    </div>
  );
}
