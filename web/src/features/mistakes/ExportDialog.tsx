import { useMutation } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { readCommand } from "~/api/commands";
import { useWords } from "~/i18n/language";
import { Button } from "~/ui/Button";
import { Dialog } from "~/ui/Dialog";
import { ErrorNotice } from "~/ui/ErrorNotice";
import { ChoiceField } from "~/ui/form/controls";
import form from "~/ui/form/Form.module.css";
import { JobCard } from "~/ui/JobCard";

type Format = "csv" | "markdown";

export function ExportDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const t = useWords();
  const [format, setFormat] = useState<Format>("markdown");
  const begin = useMutation({
    mutationFn: () => readCommand<{ readonly job_id: string }>("mistakes::export", { format }),
  });
  return (
    <Dialog title={t.mistakes.exportTitle} onClose={onClose}>
      {begin.data === undefined ? (
        <form
          className={form["form"]}
          onSubmit={(event) => {
            event.preventDefault();
            if (!begin.isPending) begin.mutate();
          }}
        >
          <p className={form["hint"]}>{t.mistakes.exportText}</p>
          <ChoiceField<Format>
            legend={t.mistakes.format}
            value={format}
            options={[
              { value: "markdown", label: t.mistakes.markdown },
              { value: "csv", label: t.mistakes.csv },
            ]}
            onChange={setFormat}
          />
          {begin.error !== null && <ErrorNotice error={begin.error} />}
          <div className={form["actions"]}>
            <Button look="primary" type="submit" icon="download" disabled={begin.isPending}>
              {t.mistakes.exportBegin}
            </Button>
          </div>
        </form>
      ) : (
        <div className={form["form"]}>
          <JobCard id={begin.data.job_id} />
          <p className={form["hint"]}>{t.mistakes.exportLeave}</p>
        </div>
      )}
    </Dialog>
  );
}
