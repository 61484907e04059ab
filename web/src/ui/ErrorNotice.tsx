import type { ReactNode } from "react";
import { ApiError } from "~/api/errors";
import { useWords } from "~/i18n/language";
import type { Words } from "~/i18n/words";
import { Button } from "./Button";
import { Notice } from "./Notice";

type ErrorSentence = Exclude<keyof Words["errors"], "requestId">;

/** The sentence for a code in the user's language, else what the server said. */
export function errorSentence(words: Words, code: string, detail: string): string {
  return code in words.errors && code !== "requestId" ? words.errors[code as ErrorSentence] : detail;
}

export function sentenceOf(words: Words, error: unknown): string {
  if (error instanceof ApiError) return errorSentence(words, error.code, error.message);
  return error instanceof Error ? error.message : String(error);
}

interface ErrorNoticeProps {
  readonly error: unknown;
  /** Shown as a button where trying again may help. */
  readonly onRetry?: (() => void) | undefined;
  readonly title?: string;
}

/** What went wrong and what to do. */
export function ErrorNotice({ error, onRetry, title }: ErrorNoticeProps): ReactNode {
  const t = useWords();
  const id = error instanceof ApiError && error.status >= 500 ? error.requestId : "";
  return (
    <Notice
      tone="danger"
      role="alert"
      {...(title === undefined ? {} : { title })}
      action={
        onRetry === undefined ? undefined : (
          <Button small onClick={onRetry}>
            {t.common.retry}
          </Button>
        )
      }
    >
      <p>{sentenceOf(t, error)}</p>
      {id !== "" && <p>{t.errors.requestId(id)}</p>}
    </Notice>
  );
}
