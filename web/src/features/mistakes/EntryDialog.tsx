import { useMutation, useQuery, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { useMemo, useRef, useState, type ReactNode } from "react";
import { commandsQuery, readCommand, type Command } from "~/api/commands";
import { ApiError } from "~/api/errors";
import { meQuery } from "~/api/me";
import { useWords } from "~/i18n/language";
import { useDraft } from "~/lib/draft";
import { Button } from "~/ui/Button";
import { Dialog } from "~/ui/Dialog";
import { ErrorNotice } from "~/ui/ErrorNotice";
import form from "~/ui/form/Form.module.css";
import { Notice } from "~/ui/Notice";
import { fieldsOf } from "~/ui/schema-form/fields";
import { SchemaFields } from "~/ui/schema-form/SchemaFields";
import { serverFaults } from "~/ui/schema-form/serverFaults";
import { collect, initialValues, type Faults, type FormValues } from "~/ui/schema-form/values";
import { Skeleton } from "~/ui/Skeleton";
import { changesOf, formFields, valuesOf } from "./changes";
import { Conflict } from "./Conflict";
import type { Entry } from "./entries";

interface EntryDialogProps {
  /** The entry to change; null files a new one. */
  readonly entry: Entry | null;
  readonly onClose: () => void;
}

export function EntryDialog({ entry, onClose }: EntryDialogProps): ReactNode {
  const t = useWords();
  const commands = useQuery(commandsQuery);
  const id = entry === null ? "mistakes::add" : "mistakes::update";
  const command = commands.data?.find((other) => other.id === id);
  return (
    <Dialog title={entry === null ? t.mistakes.addTitle : t.mistakes.editTitle} wide onClose={onClose}>
      {command !== undefined ? (
        <EntryForm command={command} entry={entry} onClose={onClose} />
      ) : commands.isPending ? (
        <Skeleton rows={4} />
      ) : commands.isError ? (
        <ErrorNotice error={commands.error} onRetry={() => void commands.refetch()} />
      ) : (
        <Notice tone="warning">{t.mistakes.offText}</Notice>
      )}
    </Dialog>
  );
}

interface Typed {
  /** What the entry was when the user began, to tell what they changed. */
  readonly base: Entry | null;
  readonly values: FormValues;
}

interface EntryFormProps extends EntryDialogProps {
  readonly command: Command;
}

function EntryForm({ command, entry, onClose }: EntryFormProps): ReactNode {
  const t = useWords();
  const { data: me } = useSuspenseQuery(meQuery);
  const queries = useQueryClient();
  const fields = useMemo(() => formFields(fieldsOf(command.input_schema)), [command]);
  const begin = useMemo(
    (): Typed => ({ base: entry, values: entry === null ? initialValues(fields) : valuesOf(fields, entry) }),
    [entry, fields],
  );
  const draft = useDraft<Typed>(`${me.user.id}.mistake.${entry?.id ?? "new"}`, begin);
  const { base, values } = draft.value;
  const [faults, setFaults] = useState<Faults>({});
  const element = useRef<HTMLFormElement>(null);

  const save = useMutation({
    mutationFn: async (version: number | null): Promise<void> => {
      const ready =
        base === null ? collect(fields, values) : changesOf(fields, valuesOf(fields, base), values);
      if (base !== null && Object.keys(ready.params).length === 0) return;
      const about = base === null ? {} : { id: base.id, version: version ?? base.version };
      await readCommand(command.id, { ...about, ...ready.params });
    },
    onSuccess: async () => {
      draft.drop();
      onClose();
      await queries.invalidateQueries({ queryKey: ["mistakes"] });
    },
    onError: (error) => setFaults(serverFaults(error, fields)),
  });
  const isConflict = save.error instanceof ApiError && save.error.code === "VERSION_CONFLICT";

  const submit = (): void => {
    const found =
      base === null
        ? collect(fields, values).faults
        : changesOf(fields, valuesOf(fields, base), values).faults;
    setFaults(found);
    if (Object.keys(found).length === 0) {
      if (!save.isPending) save.mutate(null);
      return;
    }
    requestAnimationFrame(() =>
      element.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(),
    );
  };

  return (
    <form
      ref={element}
      className={form["form"]}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {draft.restored && !isConflict && (
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
      {isConflict && base !== null ? (
        <Conflict
          base={base}
          fields={fields}
          mine={values}
          isSaving={save.isPending}
          onKeepMine={(newest) => save.mutate(newest.version)}
          onTakeTheirs={(newest) => {
            draft.set({ base: newest, values: valuesOf(fields, newest) });
            save.reset();
          }}
        />
      ) : (
        save.error !== null && <ErrorNotice error={save.error} />
      )}
      <SchemaFields
        entry={command.id}
        fields={fields}
        values={values}
        faults={faults}
        onChange={(name, value) => {
          draft.set({ base, values: { ...values, [name]: value } });
          if (name in faults)
            setFaults(Object.fromEntries(Object.entries(faults).filter(([other]) => other !== name)));
        }}
      />
      <div className={form["actions"]}>
        <Button look="primary" type="submit" disabled={save.isPending || isConflict}>
          {save.isPending ? t.mistakes.saving : t.common.save}
        </Button>
        <Button
          onClick={() => {
            draft.drop();
            onClose();
          }}
        >
          {t.common.cancel}
        </Button>
      </div>
    </form>
  );
}
