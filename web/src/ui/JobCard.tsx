import { useMutation, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { cancelJob, fileAddress, isEnded, jobQuery, type Job } from "~/api/jobs";
import { useLanguage } from "~/i18n/language";
import { capabilityText } from "~/i18n/capabilities";
import { Button } from "./Button";
import buttons from "./Button.module.css";
import { cx } from "./cx";
import { errorSentence, ErrorNotice } from "./ErrorNotice";
import { Icon } from "./Icon";
import styles from "./JobCard.module.css";
import { Skeleton } from "./Skeleton";

/** Long work under way: how far it is, a way to stop it, and what came of it. */
export function JobCard({ id }: { readonly id: string }): ReactNode {
  const job = useQuery(jobQuery(id));
  const cancel = useMutation({ mutationFn: () => cancelJob(id), onSettled: () => job.refetch() });
  if (job.isPending) return <Skeleton rows={1} />;
  if (job.data === undefined) return <ErrorNotice error={job.error} onRetry={() => void job.refetch()} />;
  return <JobView job={job.data} isCancelling={cancel.isPending} onCancel={() => cancel.mutate()} />;
}

interface JobViewProps {
  readonly job: Job;
  readonly isCancelling: boolean;
  readonly onCancel: () => void;
}

function JobView({ job, isCancelling, onCancel }: JobViewProps): ReactNode {
  const { words: t, language } = useLanguage();
  const ended = isEnded(job.status);
  const title = capabilityText(language, job.name, { title: job.title, description: "" }).title;
  const { progress } = job;
  const measured = progress !== null && progress.total > 0 ? progress : null;
  const fileId = typeof job.result?.["file_id"] === "string" ? job.result["file_id"] : null;
  const fileName = typeof job.result?.["name"] === "string" ? job.result["name"] : "";
  return (
    <section className={styles["card"]} aria-label={title}>
      <div className={styles["line"]}>
        <Icon
          name={
            job.status === "completed"
              ? "check"
              : job.status === "failed"
                ? "warning"
                : ended
                  ? "stop"
                  : "clock"
          }
        />
        <strong>{title}</strong>
        <span role="status" className={styles["status"]}>
          {t.jobs.status[job.status]}
        </span>
      </div>
      {!ended && (
        <>
          <progress
            className={styles["progress"]}
            aria-label={title}
            {...(measured === null ? {} : { value: measured.done, max: measured.total })}
          />
          <div className={styles["line"]}>
            <span className={styles["note"]}>
              {measured === null ? "" : t.jobs.progress(measured.done, measured.total)} {progress?.note}
            </span>
            <Button small disabled={isCancelling} onClick={onCancel}>
              {t.common.cancel}
            </Button>
          </div>
        </>
      )}
      {job.error !== null && (
        <p className={styles["error"]}>{errorSentence(t, job.error.code, job.error.message)}</p>
      )}
      {fileId !== null && (
        <a
          className={cx(buttons["button"], buttons["primary"], styles["download"])}
          href={fileAddress(fileId)}
          download={fileName}
        >
          <Icon name="download" size={17} />
          {t.jobs.download(fileName)}
        </a>
      )}
    </section>
  );
}
